-- The guarded ledger: repositories, targets, entries and the bytes that they name.

CREATE FUNCTION patchd.refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'table %.% is append-only: % refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
    USING ERRCODE = 'PD001';
END
$$;

CREATE DOMAIN patchd.oid_text AS text CHECK (VALUE ~ '^[0-9a-f]{40}$');
CREATE DOMAIN patchd.digest_text AS text CHECK (VALUE ~ '^[0-9a-f]{64}$');
CREATE DOMAIN patchd.code_text AS text CHECK (VALUE ~ '^[a-z][a-z0-9_]{0,63}$');

CREATE TABLE patchd.repositories (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE CHECK (name <> ''),
  git_dir    text NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE TABLE patchd.targets (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repository_id  bigint NOT NULL REFERENCES patchd.repositories,
  ref            text NOT NULL CHECK (ref LIKE 'refs/%'),
  version        bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
  head_hash      patchd.digest_text NOT NULL DEFAULT repeat('0', 64),
  inputs_version bigint NOT NULL DEFAULT 0 CHECK (inputs_version BETWEEN 0 AND version),
  commit_id      patchd.oid_text,
  state_digest   patchd.digest_text,
  state_version  bigint NOT NULL DEFAULT 0,
  paused         boolean NOT NULL DEFAULT false,
  draining       boolean NOT NULL DEFAULT false,
  created_at     timestamptz NOT NULL,
  UNIQUE (repository_id, ref)
) WITH (fillfactor = 50);

CREATE TABLE patchd.ledger_entries (
  target_id          bigint NOT NULL REFERENCES patchd.targets,
  seq                bigint NOT NULL CHECK (seq > 0),
  kind               patchd.code_text NOT NULL,
  prev_hash          patchd.digest_text NOT NULL,
  hash               patchd.digest_text NOT NULL UNIQUE,
  payload            bytea NOT NULL,
  payload_sha256     patchd.digest_text NOT NULL,
  operational        bytea NOT NULL,
  operational_sha256 patchd.digest_text NOT NULL,
  created_at         timestamptz NOT NULL,
  PRIMARY KEY (target_id, seq)
);

CREATE TABLE patchd.contents (
  sha256     patchd.digest_text PRIMARY KEY,
  bytes      bytea NOT NULL,
  created_at timestamptz NOT NULL,
  CHECK (sha256::text = encode(pg_catalog.sha256(bytes), 'hex'))
);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON patchd.ledger_entries
  FOR EACH ROW EXECUTE FUNCTION patchd.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON patchd.ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION patchd.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON patchd.contents
  FOR EACH ROW EXECUTE FUNCTION patchd.refuse_change();
CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON patchd.contents
  FOR EACH STATEMENT EXECUTE FUNCTION patchd.refuse_change();
