DROP TABLE patchd.plans;
DROP TABLE patchd.resolutions;
DROP TABLE patchd.verdicts;
DROP TABLE patchd.patches;
