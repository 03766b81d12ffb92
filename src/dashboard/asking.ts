interface AskingOptions<Answer> {
	ask(signal: AbortSignal): Promise<Answer>;
	/** `isLast`: the question is not repeated. */
	onAnswer(answer: Answer, isLast: boolean): void;
	onError(error: unknown, isLast: boolean): void;
}

export type Asking = ReturnType<typeof createAsking>;

/** A question that is repeated whenever its answer may be out of date, one at a time. */
export function createAsking<Answer>({ ask, onAnswer, onError }: AskingOptions<Answer>) {
	const stop = new AbortController();
	let isInFlight = false;
	let isOutdated = false;

	/** Asks; a question in flight is repeated when it is answered. */
	function again(): void {
		if (isInFlight) isOutdated = true;
		else if (!stop.signal.aborted) run();
	}

	function run(): void {
		isInFlight = true;
		isOutdated = false;
		ask(stop.signal).then(
			(answer) => finish((isLast) => onAnswer(answer, isLast)),
			(error: unknown) => finish((isLast) => onError(error, isLast)),
		);
	}

	function finish(report: (isLast: boolean) => void): void {
		isInFlight = false;
		if (stop.signal.aborted) return;
		const isLast = !isOutdated;
		if (!isLast) run();
		report(isLast);
	}

	return { again, stop: () => stop.abort() };
}
