package doctor

// deadLetterChecks follow what queues give away to its end.
var deadLetterChecks = []Check{
	missingDeadLetterExchange, deadLetterExchangeWithoutQueue, deadLetterKeyUnbound, limitWithoutTarget, unlimitedByPolicy,
	unlimitedBeforeVersion4, fallsBackToAtMostOnce, droppedCycle, queueThatExpires, missingAlternate,
}

const deadLetterPage = "dead-letter-accumulation.md"
