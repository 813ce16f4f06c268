-- The pending set as decided, and the inputs that a decision takes from people and from checks.

CREATE TABLE patchd.patches (
  target_id         bigint NOT NULL REFERENCES patchd.targets,
  identity          patchd.digest_text NOT NULL,
  patch_id          text NOT NULL,
  base_commit       patchd.oid_text NOT NULL,
  diff_sha256       patchd.digest_text NOT NULL REFERENCES patchd.contents,
  manifest          bytea NOT NULL,
  admitted_seq      bigint NOT NULL,
  standing          integer NOT NULL CHECK (standing >= 0),
  disposition       text NOT NULL DEFAULT 'pending'
                    CHECK (disposition IN ('pending', 'landed', 'withdrawn', 'rejected', 'superseded')),
  decided_commit    patchd.oid_text,
  decided_version   bigint NOT NULL DEFAULT 0,
  stage             patchd.code_text,
  outcome           patchd.code_text,
  code              patchd.code_text,
  class             patchd.code_text,
  published_outcome patchd.code_text,
  plan_digest       patchd.digest_text,
  decision_digest   patchd.digest_text,
  candidate_commit  patchd.oid_text,
  candidate_tree    patchd.oid_text,
  record_sha256     patchd.digest_text REFERENCES patchd.contents,
  needs_decision    boolean NOT NULL DEFAULT true,
  needs_checks      boolean NOT NULL DEFAULT false,
  depends_on        text[] NOT NULL DEFAULT '{}',
  supersedes        text[] NOT NULL DEFAULT '{}',
  contends_with     text[] NOT NULL DEFAULT '{}',
  successor         patchd.digest_text,
  landed_commit     patchd.oid_text,
  landed_seq        bigint,
  data              bytea,
  updated_at        timestamptz NOT NULL,
  PRIMARY KEY (target_id, identity)
) WITH (fillfactor = 70);
CREATE INDEX patches_pending ON patchd.patches (target_id, identity) WHERE disposition = 'pending';
CREATE INDEX patches_undecided ON patchd.patches (target_id, admitted_seq) WHERE disposition = 'pending' AND needs_decision;
CREATE INDEX patches_by_label ON patchd.patches (target_id, patch_id);

CREATE TABLE patchd.verdicts (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repository_id bigint NOT NULL REFERENCES patchd.repositories,
  tree          patchd.oid_text NOT NULL,
  command       text NOT NULL,
  args_sha256   patchd.digest_text NOT NULL,
  env_sha256    patchd.digest_text NOT NULL,
  verdict       text NOT NULL CHECK (verdict IN ('passed', 'failed', 'inconclusive', 'accepted')),
  reason        text NOT NULL,
  run           integer NOT NULL CHECK (run > 0),
  exit_code     integer,
  output_sha256 patchd.digest_text,
  output_bytes  bigint NOT NULL,
  sandbox       text NOT NULL,
  evidence      bytea,
  duration_ms   bigint NOT NULL,
  created_at    timestamptz NOT NULL
);
CREATE INDEX verdicts_by_key ON patchd.verdicts (repository_id, tree, args_sha256, env_sha256, id);

CREATE TABLE patchd.resolutions (
  id             uuid PRIMARY KEY,
  target_id      bigint NOT NULL REFERENCES patchd.targets,
  seq            bigint NOT NULL,
  identity       patchd.digest_text NOT NULL,
  action         text NOT NULL CHECK (action IN ('accept', 'choose', 'approve', 'submit', 'reject', 'reopen', 'comment')),
  binding        bytea NOT NULL,
  binding_sha256 patchd.digest_text NOT NULL,
  details        bytea,
  credential     text NOT NULL,
  why            text NOT NULL,
  created_at     timestamptz NOT NULL
);
CREATE INDEX resolutions_by_patch ON patchd.resolutions (target_id, identity, seq);

-- Results worked out from content alone; a row may be dropped at any time.
CREATE TABLE patchd.plans (
  repository_id bigint NOT NULL REFERENCES patchd.repositories,
  plan_key      patchd.digest_text NOT NULL,
  plan          bytea NOT NULL,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (repository_id, plan_key)
);

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['verdicts', 'resolutions'] LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON patchd.%I
      FOR EACH ROW EXECUTE FUNCTION patchd.refuse_change()', t);
    EXECUTE format('CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON patchd.%I
      FOR EACH STATEMENT EXECUTE FUNCTION patchd.refuse_change()', t);
  END LOOP;
END
$$;
