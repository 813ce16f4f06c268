-- How far the entries of a chain were handed to the queue for a receiver of webhooks, who is named by a digest.

CREATE TABLE patchd.webhooks (
  target_id  bigint NOT NULL REFERENCES patchd.targets,
  receiver   patchd.digest_text NOT NULL,
  queued_seq bigint NOT NULL CHECK (queued_seq >= 0),
  PRIMARY KEY (target_id, receiver)
);
