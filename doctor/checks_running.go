package doctor

// runningChecks look at what moves and what does not.
var runningChecks = []Check{
	unconsumedQueue, quietConsumer, stuckConsumer, oldParked, growingParked, unboundedOnFillingDisk, deadLetterBuffer, unownedDeadLetters,
	boundsThatDestroy, countedLooks, strays, delayedOnOneNode, mixedDelays, unacknowledged, queueDown, loneReplica, singleNode,
	nodeAlarm, nearAlarm, blockedConnection, sharedConnection, partitioned, brokerClock,
}

const (
	crashPage   = "consumer-crash.md"
	confirmPage = "confirm-never-arrives.md"
	orderPage   = "out-of-order.md"
)
