DROP TABLE patchd.webhooks;
