-- People who may log in.
CREATE TABLE users (
  id integer PRIMARY KEY,
  name text NOT NULL
);

CREATE INDEX users_by_name ON users (name);

CREATE VIEW active AS
  SELECT id, name
  FROM users;

CREATE FUNCTION twice(n integer) RETURNS integer AS $$
  SELECT n * 2
$$ LANGUAGE sql;

CREATE TYPE mood AS ENUM ('glad', 'sad');
