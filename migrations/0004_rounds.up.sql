-- Rounds, their members, and landings from intent to mark.

CREATE TABLE patchd.rounds (
  target_id     bigint NOT NULL REFERENCES patchd.targets,
  number        bigint NOT NULL CHECK (number > 0),
  status        text NOT NULL CHECK (status IN
                ('sealing', 'composing', 'checking', 'blaming', 'ready', 'landing', 'landed', 'stopped', 'superseded', 'empty')),
  cut_seq       bigint NOT NULL,
  sealed_seq    bigint,
  target_commit patchd.oid_text,
  head_commit   patchd.oid_text,
  tree          patchd.oid_text,
  code          patchd.code_text,
  requested     text[] NOT NULL DEFAULT '{}',
  credential    text NOT NULL,
  data          bytea,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  PRIMARY KEY (target_id, number)
);
CREATE INDEX rounds_open ON patchd.rounds (target_id, number)
  WHERE status NOT IN ('landed', 'stopped', 'superseded', 'empty');

CREATE TABLE patchd.round_members (
  target_id bigint NOT NULL,
  number    bigint NOT NULL,
  identity  patchd.digest_text NOT NULL,
  position  integer NOT NULL,
  status    patchd.code_text NOT NULL,
  commit_id patchd.oid_text,
  PRIMARY KEY (target_id, number, identity),
  FOREIGN KEY (target_id, number) REFERENCES patchd.rounds
);

CREATE TABLE patchd.landings (
  target_id  bigint NOT NULL REFERENCES patchd.targets,
  seq        bigint NOT NULL,
  round      bigint,
  old_commit patchd.oid_text NOT NULL,
  new_commit patchd.oid_text NOT NULL,
  identities text[] NOT NULL,
  status     text NOT NULL CHECK (status IN ('intended', 'landed', 'abandoned')),
  closed_seq bigint,
  created_at timestamptz NOT NULL,
  closed_at  timestamptz,
  PRIMARY KEY (target_id, seq),
  FOREIGN KEY (target_id, seq) REFERENCES patchd.ledger_entries,
  CHECK ((status = 'intended') = (closed_seq IS NULL))
);
CREATE INDEX landings_open ON patchd.landings (target_id) WHERE status = 'intended';

-- An intent is written once; only its closing may be added, once.
CREATE FUNCTION patchd.close_landing_once() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status <> 'intended'
     OR (NEW.target_id, NEW.seq, NEW.round, NEW.old_commit, NEW.new_commit, NEW.identities, NEW.created_at)
        IS DISTINCT FROM
        (OLD.target_id, OLD.seq, OLD.round, OLD.old_commit, OLD.new_commit, OLD.identities, OLD.created_at) THEN
    RAISE EXCEPTION 'landing % of target % is closed or immutable', OLD.seq, OLD.target_id USING ERRCODE = 'PD001';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER close_once BEFORE UPDATE ON patchd.landings
  FOR EACH ROW EXECUTE FUNCTION patchd.close_landing_once();
CREATE TRIGGER no_delete BEFORE DELETE ON patchd.landings
  FOR EACH ROW EXECUTE FUNCTION patchd.refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON patchd.landings
  FOR EACH STATEMENT EXECUTE FUNCTION patchd.refuse_change();
