DROP TABLE patchd.landings;
DROP FUNCTION patchd.close_landing_once();
DROP TABLE patchd.round_members;
DROP TABLE patchd.rounds;
