import type { Dispatcher } from "undici";

type Handler = Required<
	Pick<
		Dispatcher.DispatchHandler,
		"onRequestStart" | "onResponseStart" | "onResponseData" | "onResponseEnd" | "onResponseError"
	>
>;
type Controller = Dispatcher.DispatchController;
type Start = Parameters<Handler["onResponseStart"]>;

/** The status with which a provider refuses a request that it does not understand or accept. */
const REFUSED = 400;
/** Errors are short. A longer answer passes as it comes. */
const MAX_HELD_BYTES = 64 * 1024;

interface SecondTryOptions {
	/** Gets one answer: the first, or that to the original if it is not refused, too. */
	readonly handler: Handler;
	/** Sends the original. */
	dispatch(handler: Dispatcher.DispatchHandler): void;
	/** Called if the answer to the original is passed on. */
	onOriginal(status: number): void;
}

/** Sends the original request once if the provider refuses the rewritten one. */
export class SecondTry implements Handler {
	readonly #options: SecondTryOptions;
	/** The start of a refusal and its bytes so far, until it is known what to do with it. */
	#held: { readonly start: Start; readonly chunks: Buffer[]; bytes: number } | undefined;

	constructor(options: SecondTryOptions) {
		this.#options = options;
	}

	onRequestStart(...args: Parameters<Handler["onRequestStart"]>): void {
		this.#options.handler.onRequestStart(...args);
	}

	onResponseStart(...start: Start): void {
		const [controller, status, headers, message] = start;
		if (status !== REFUSED) {
			this.#options.handler.onResponseStart(...start);
			return;
		}
		const kept = ended(controller);
		this.#held = { start: [kept, status, headers, message], chunks: [], bytes: 0 };
	}

	onResponseData(controller: Controller, chunk: Buffer): void {
		const held = this.#held;
		if (!held) {
			this.#options.handler.onResponseData(controller, chunk);
			return;
		}
		held.chunks.push(chunk);
		held.bytes += chunk.length;
		if (held.bytes > MAX_HELD_BYTES) this.#passOn(controller);
	}

	onResponseEnd(controller: Controller, trailers: Parameters<Handler["onResponseEnd"]>[1]): void {
		const { handler, dispatch } = this.#options;
		if (!this.#held) {
			handler.onResponseEnd(controller, trailers);
			return;
		}
		try {
			dispatch(this.#original());
		} catch {
			this.#answerAsFirst();
		}
	}

	onResponseError(controller: Controller, error: Error): void {
		if (this.#held) this.#passOn(controller);
		this.#options.handler.onResponseError(controller, error);
	}

	/** Handles the answer to the original. If that is refused, too, or none comes, the first answer is the better one. */
	#original(): Handler {
		const { handler, onOriginal } = this.#options;
		let isRefused = false;
		let isPassedOn = false;
		return {
			onRequestStart: (...args) => handler.onRequestStart(...args),
			onResponseStart: (...start) => {
				const [, status] = start;
				isRefused = status === REFUSED;
				if (isRefused) return;
				isPassedOn = status >= 200;
				if (isPassedOn) onOriginal(status);
				handler.onResponseStart(...start);
			},
			onResponseData: (...args) => {
				if (!isRefused) handler.onResponseData(...args);
			},
			onResponseEnd: (...args) => {
				if (isRefused) this.#answerAsFirst();
				else handler.onResponseEnd(...args);
			},
			onResponseError: (controller, error) => {
				// Aborted by ourselves: the client is gone. Without a connection there is no controller.
				if (isPassedOn || controller?.aborted) handler.onResponseError(controller, error);
				else this.#answerAsFirst();
			},
		};
	}

	#answerAsFirst(): void {
		const controller = this.#held?.start[0];
		if (!controller) return;
		const { handler } = this.#options;
		handler.onRequestStart(controller, undefined);
		this.#passOn(controller);
		handler.onResponseEnd(controller, {});
	}

	#passOn(controller: Controller): void {
		const { handler } = this.#options;
		if (!this.#held) return;
		const { start, chunks } = this.#held;
		this.#held = undefined;
		handler.onResponseStart(...start);
		for (const chunk of chunks) handler.onResponseData(controller, chunk);
	}
}

/** A controller for an answer that has arrived. */
function ended({ rawHeaders = null }: Controller): Controller {
	return {
		...{ aborted: false, paused: false, reason: null, rawHeaders, rawTrailers: null },
		abort: () => undefined,
		pause: () => undefined,
		resume: () => undefined,
	};
}
