//go:build !race

package symbols_test

// raceDetector says that the race detector takes memory of its own.
const raceDetector = false
