DROP TABLE patchd.request_keys;
DROP TABLE patchd.withdrawals;
DROP TABLE patchd.submissions;
DROP TABLE patchd.attempt_outcomes;
DROP TABLE patchd.attempts;
DROP TABLE patchd.credentials;
