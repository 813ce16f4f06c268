package service

import "context"

// trouble logs what keeps a loop from its work once, and again only after it has changed or gone.
type trouble[K comparable] struct {
	service *Service
	message string
	said    map[K]string
}

func newTrouble[K comparable](s *Service, message string) *trouble[K] {
	return &trouble[K]{service: s, message: message, said: map[K]string{}}
}

// note takes in how the latest look at something went.
func (t *trouble[K]) note(ctx context.Context, of K, err error) {
	text := ""
	if err != nil && ctx.Err() == nil {
		text = err.Error()
	}
	if text != "" && text != t.said[of] {
		t.service.warn(ctx, t.message, err)
	}
	t.said[of] = text
}
