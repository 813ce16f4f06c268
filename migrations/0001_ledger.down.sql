DROP TABLE patchd.contents;
DROP TABLE patchd.ledger_entries;
DROP TABLE patchd.targets;
DROP TABLE patchd.repositories;
DROP DOMAIN patchd.code_text;
DROP DOMAIN patchd.digest_text;
DROP DOMAIN patchd.oid_text;
DROP FUNCTION patchd.refuse_change();
