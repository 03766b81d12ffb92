import {
	type StreamFrame,
	type SubscribeOptions,
	type Subscriptions,
	spanOf,
} from "./subscriptions.ts";

export interface StreamOptions extends Pick<SubscribeOptions, "after"> {
	readonly signal?: AbortSignal;
	/** Maximum number of frames kept for a slow loop; then the older half becomes a gap. Default: 10,000. */
	readonly maxWaiting?: number;
}

/** Subscribes immediately. The stream ends with the loop, the session or `signal`. */
export function openStream(
	subscriptions: Pick<Subscriptions, "subscribe">,
	sessionId: string,
	{ after, signal, maxWaiting = 10_000 }: StreamOptions = {},
): AsyncIterableIterator<StreamFrame> {
	let buffered: StreamFrame[] = [];
	let isOver = false;
	let failure: Error | undefined;
	let wake: (() => void) | undefined;
	const subscription = subscriptions.subscribe(
		sessionId,
		(frame) => {
			buffered.push(frame);
			if (buffered.length > maxWaiting) buffered = mergeOlderHalf(buffered);
			wake?.();
		},
		{ ...(after !== undefined && { after }), onEnd: stop },
	);
	const onAbort = () => stop();
	signal?.addEventListener("abort", onAbort, { once: true });
	if (signal?.aborted) stop();

	return {
		[Symbol.asyncIterator]() {
			return this;
		},
		async next() {
			while (buffered.length === 0 && !isOver) {
				await new Promise<void>((resolve) => {
					wake = resolve;
				});
			}
			const value = buffered.shift();
			if (value) return { value, done: false };
			const error = failure;
			failure = undefined;
			if (error) throw error;
			return { value: undefined, done: true };
		},
		async return() {
			buffered = [];
			stop();
			return { value: undefined, done: true };
		},
	};

	function stop(error?: Error): void {
		if (isOver) return;
		isOver = true;
		failure = error;
		signal?.removeEventListener("abort", onAbort);
		subscription.close();
		wake?.();
	}
}

/** Replaces the older half of the frames with one gap; frames without a number stay. */
function mergeOlderHalf(frames: StreamFrame[]): StreamFrame[] {
	const half = Math.ceil(frames.length / 2);
	const older = frames.slice(0, half);
	const spans = older.flatMap((frame) => spanOf(frame) ?? []);
	const kept = [...older.filter((frame) => !spanOf(frame)), ...frames.slice(half)];
	const [first] = spans;
	const last = spans.at(-1);
	if (!first || !last) return kept;
	const sessionId = frames[0]?.sessionId ?? "";
	return [{ type: "gap", sessionId, fromSeq: first.from, toSeq: last.to }, ...kept];
}
