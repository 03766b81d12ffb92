interface RefresherOptions<Answer> {
	fetch(signal: AbortSignal): Promise<Answer>;
	/** `isLast`: no other fetch is pending. */
	onAnswer(answer: Answer, isLast: boolean): void;
	onError(error: unknown, isLast: boolean): void;
}

export type Refresher = ReturnType<typeof createRefresher>;

/** Keeps at most one fetch in flight. Calls of `refresh` during a fetch coalesce into one further fetch. */
export function createRefresher<Answer>({ fetch, onAnswer, onError }: RefresherOptions<Answer>) {
	const stop = new AbortController();
	let isInFlight = false;
	let isOutdated = false;

	function refresh(): void {
		if (isInFlight) isOutdated = true;
		else if (!stop.signal.aborted) run();
	}

	function run(): void {
		isInFlight = true;
		isOutdated = false;
		fetch(stop.signal).then(
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

	return { refresh, stop: () => stop.abort() };
}
