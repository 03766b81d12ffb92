/** A question that is repeated whenever its answer may be out of date, one at a time. */
export interface Asking {
	/** Asks; a question in flight is repeated when it is answered. */
	again(): void;
	stop(): void;
}

export interface AskingOptions<Answer> {
	ask(signal: AbortSignal): Promise<Answer>;
	/** `isLast`: the question is not repeated. */
	onAnswer(answer: Answer, isLast: boolean): void;
	onError(error: unknown, isLast: boolean): void;
}

export function createAsking<Answer>({ ask, onAnswer, onError }: AskingOptions<Answer>): Asking {
	const stop = new AbortController();
	let isUnderWay = false;
	let isOutdated = false;

	function again(): void {
		if (isUnderWay) isOutdated = true;
		else if (!stop.signal.aborted) run();
	}

	function run(): void {
		isUnderWay = true;
		isOutdated = false;
		ask(stop.signal).then(
			(answer) => finish((isLast) => onAnswer(answer, isLast)),
			(error: unknown) => finish((isLast) => onError(error, isLast)),
		);
	}

	function finish(tell: (isLast: boolean) => void): void {
		isUnderWay = false;
		if (stop.signal.aborted) return;
		const isLast = !isOutdated;
		if (!isLast) run();
		tell(isLast);
	}

	return { again, stop: () => stop.abort() };
}
