package doctor

// storeChecks look at an outbox, an inbox and what is set aside.
var storeChecks = []Check{
	outboxLate, outboxStuck, outboxFailed, noRelay, relaysDiffer, rowsHeldBack, foreignDestination, tablesDiffer,
	inboxTooShort, setAsideOld, databaseClock,
}
