-- Who is allowed to ask, what was asked, and what became of each attempt.

CREATE TABLE patchd.credentials (
  id           uuid PRIMARY KEY,
  name         text NOT NULL UNIQUE CHECK (name <> ''),
  token_sha256 patchd.digest_text NOT NULL UNIQUE,
  scopes       text[] NOT NULL,
  created_at   timestamptz NOT NULL,
  revoked_at   timestamptz
);

CREATE TABLE patchd.attempts (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  target_id         bigint NOT NULL REFERENCES patchd.targets,
  submission_id     uuid,
  retry_parent      bigint REFERENCES patchd.attempts,
  tool              text NOT NULL,
  credential        text NOT NULL,
  patch_id          text NOT NULL,
  identity          patchd.digest_text,
  client_request_id text,
  fingerprint       patchd.digest_text,
  stage             patchd.code_text NOT NULL,
  code              patchd.code_text,
  outcome           patchd.code_text NOT NULL,
  protocol_valid    boolean,
  patch_valid       boolean,
  checks_valid      boolean,
  semantic          text NOT NULL DEFAULT 'not_evaluated',
  diagnostics       json,
  created_at        timestamptz NOT NULL
);
CREATE INDEX attempts_by_target ON patchd.attempts (target_id, id DESC);
CREATE INDEX attempts_by_identity ON patchd.attempts (target_id, identity, id DESC) WHERE identity IS NOT NULL;

-- What a later decision made of an attempt: the latest row is the attempt's present outcome.
CREATE TABLE patchd.attempt_outcomes (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  attempt_id     bigint NOT NULL REFERENCES patchd.attempts,
  seq            bigint NOT NULL,
  stage          patchd.code_text NOT NULL,
  code           patchd.code_text,
  outcome        patchd.code_text NOT NULL,
  protocol_valid boolean,
  patch_valid    boolean,
  checks_valid   boolean,
  diagnostics    json,
  created_at     timestamptz NOT NULL
);
CREATE INDEX attempt_outcomes_latest ON patchd.attempt_outcomes (attempt_id, id DESC);

CREATE TABLE patchd.submissions (
  id                uuid PRIMARY KEY,
  target_id         bigint NOT NULL REFERENCES patchd.targets,
  attempt_id        bigint NOT NULL REFERENCES patchd.attempts,
  identity          patchd.digest_text NOT NULL,
  patch_id          text NOT NULL CHECK (patch_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  base_commit       patchd.oid_text NOT NULL,
  manifest          bytea NOT NULL,
  diff_sha256       patchd.digest_text NOT NULL REFERENCES patchd.contents,
  credential        text NOT NULL,
  agent             text,
  on_conflict       patchd.code_text NOT NULL,
  client_request_id text,
  received_at       timestamptz NOT NULL
);
CREATE INDEX submissions_by_identity ON patchd.submissions (target_id, identity);
CREATE INDEX submissions_by_label ON patchd.submissions (target_id, patch_id);

CREATE TABLE patchd.withdrawals (
  submission_id uuid PRIMARY KEY REFERENCES patchd.submissions,
  seq           bigint NOT NULL,
  credential    text NOT NULL,
  why           text NOT NULL,
  created_at    timestamptz NOT NULL
);

CREATE TABLE patchd.request_keys (
  credential    text NOT NULL,
  repository_id bigint NOT NULL REFERENCES patchd.repositories,
  request_key   text NOT NULL CHECK (request_key <> ''),
  fingerprint   patchd.digest_text NOT NULL,
  attempt_id    bigint REFERENCES patchd.attempts,
  submission_id uuid REFERENCES patchd.submissions,
  answer        bytea NOT NULL,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (credential, repository_id, request_key)
);

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['attempts', 'attempt_outcomes', 'submissions', 'withdrawals', 'request_keys'] LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON patchd.%I
      FOR EACH ROW EXECUTE FUNCTION patchd.refuse_change()', t);
    EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON patchd.%I
      FOR EACH STATEMENT EXECUTE FUNCTION patchd.refuse_change()', t);
  END LOOP;
END
$$;
