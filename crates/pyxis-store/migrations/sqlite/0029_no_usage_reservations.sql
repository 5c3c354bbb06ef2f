-- A killed process leaves what it reserved and did not spend counted until the window ends, at most a tenth of it.
DROP TABLE usage_reservations;
