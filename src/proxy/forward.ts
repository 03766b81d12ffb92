import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import { errnoOf } from "../core/errno.ts";
import type { Exchange, RewritableRequest, Rewriting, SavingsNote } from "../wire/exchange.ts";
import { BodyCopy, type CopyLimits } from "./body-copy.ts";
import { endToEnd, headerIn, OF_REQUEST, pairs, publicHeaders } from "./headers.ts";
import { type Refusal, sendRefusal } from "./refusal.ts";
import type { Route } from "./route.ts";
import { SecondTry } from "./second-try.ts";
import { Upload } from "./upload.ts";

interface WholeBody {
	/** As the client sent it. */
	readonly body: Buffer;
	readonly sent: Buffer;
	readonly isOwn: boolean;
	readonly savings: SavingsNote | undefined;
	readonly refused: Rewriting["refused"];
}

/** Larger chunks would be kept by reference. */
const COPY_STEP_BYTES = 1024 * 1024;

interface ForwardOptions extends CopyLimits {
	readonly request: IncomingMessage;
	readonly response: ServerResponse;
	readonly route: Route;
	readonly rewrite?: ((request: RewritableRequest) => Rewriting) | undefined;
}

/** The life of one HTTP request: bytes are forwarded first, then copied. */
export class Forward implements Dispatcher.DispatchHandler {
	readonly #options: ForwardOptions;
	readonly #startedMs = Date.now();
	#sent: BodyCopy | undefined;
	#received: BodyCopy | undefined;
	readonly #closed = Promise.withResolvers<void>();
	#controller: Dispatcher.DispatchController | undefined;
	#answer: { status: number; type?: string; encoding?: string; atMs: number } | undefined;
	/** Bytes of the answer that are not written yet. */
	readonly #arrived: Buffer[] = [];
	#isScheduled = false;
	#isAnswered = false;
	#upload: Upload | undefined;
	/** Set if the body was read before it was forwarded. */
	#whole: WholeBody | undefined;
	/** Taken from the budget for the whole body. */
	#heldBytes = 0;
	#failure: "upstream-failed" | "upstream-cut" | undefined;
	bytesSent = 0;
	bytesReceived = 0;

	constructor(options: ForwardOptions) {
		this.#options = options;
	}

	/** Resolves when the client has the answer, or one of both sides is gone. Never rejects. */
	async run(dispatcher: Dispatcher): Promise<Exchange> {
		const { request, response, route } = this.#options;
		response.sendDate = false;
		response.on("close", () => this.#close());
		response.on("error", () => {}); // "close" follows
		response.on("drain", () => this.#controller?.resume());
		try {
			const { rewrite } = this.#options;
			const whole = rewrite && (await this.#rewritten(rewrite));
			if (whole === "gone") {
				response.destroy();
				await this.#closed.promise;
				return this.#exchange();
			}
			const raw = endToEnd(request.rawHeaders, OF_REQUEST);
			const send = (body: Buffer | Upload | null, handler: Dispatcher.DispatchHandler) => {
				const options = {
					origin: route.upstream.origin,
					path: route.target,
					method: request.method as Dispatcher.HttpMethod,
					headers: Buffer.isBuffer(body) ? withLength(raw, body.length) : raw,
					body,
				};
				dispatcher.dispatch(options, handler);
			};
			if (whole) send(whole.sent, whole.isOwn ? this.#withSecondTry(whole, send) : this);
			else send(this.#body(), this);
		} catch (error) {
			this.#fail(error as Error);
		}
		await this.#closed.promise;
		return this.#exchange();
	}

	/** Ends both sides at once. */
	abort(): void {
		this.#options.response.destroy();
	}

	/** Returns the memory of the copies to the budget. */
	release(): void {
		this.#options.budget.release(this.#heldBytes);
		this.#heldBytes = 0;
		this.#sent?.drop();
		this.#received?.drop();
	}

	onRequestStart(controller: Dispatcher.DispatchController): void {
		this.#controller = controller;
		if (this.#options.response.closed) controller.abort(new Error("the client is gone"));
	}

	onResponseStart(
		controller: Dispatcher.DispatchController,
		status: number,
		_headers: unknown,
		message?: string,
	): void {
		const { response } = this.#options;
		const raw = textsOf(controller.rawHeaders);
		if (status < 200) {
			optional(() => forwardInterim(response, status, raw));
			return;
		}
		response.writeHead(status, isPlainReason(message) ? message : "", endToEnd(raw));
		const type = headerIn(raw, "content-type");
		const encoding = headerIn(raw, "content-encoding");
		this.#received = new BodyCopy(this.#options, lengthIn(headerIn(raw, "content-length")));
		this.#answer = {
			status,
			atMs: Date.now(),
			...(type !== undefined && { type }),
			...(encoding !== undefined && { encoding }),
		};
		this.#schedule();
	}

	onResponseData(_controller: unknown, chunk: Buffer): void {
		this.bytesReceived += chunk.length;
		this.#arrived.push(chunk);
		this.#schedule();
	}

	onResponseEnd(controller: Dispatcher.DispatchController): void {
		const { response } = this.#options;
		this.#isAnswered = true;
		this.#flush();
		const trailers = textsOf(controller.rawTrailers);
		if (trailers.length > 0) optional(() => response.addTrailers([...pairs(trailers)]));
		response.end();
	}

	onResponseError(_controller: unknown, error: Error): void {
		this.#flush();
		this.#fail(error);
	}

	/** What one read of the socket brings, many small events perhaps, leaves in one write. */
	#schedule(): void {
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		process.nextTick(() => this.#flush());
	}

	#flush(): void {
		const { response } = this.#options;
		if (!this.#isScheduled) return;
		this.#isScheduled = false;
		const [first, ...more] = this.#arrived.splice(0);
		if (!first) {
			if (!this.#isAnswered) response.flushHeaders();
			return;
		}
		const bytes = more.length === 0 ? first : Buffer.concat([first, ...more]);
		if (!response.write(bytes)) this.#controller?.pause();
		this.#received?.add(bytes);
	}

	#body(): Upload | null {
		const { request } = this.#options;
		const { "content-length": length, "transfer-encoding": encoding } = request.headers;
		const sent = new BodyCopy(this.#options, lengthIn(length));
		this.#sent = sent;
		if (encoding === undefined && Number(length ?? 0) === 0) return null;
		this.#upload = new Upload(request, (chunk) => {
			this.bytesSent += chunk.length;
			sent.add(chunk);
		});
		return this.#upload;
	}

	/**
	 * Reads the whole body, if its length is known and there is room for it, and has it rewritten.
	 * `gone`: the client did not send all of it.
	 */
	async #rewritten(
		rewrite: NonNullable<ForwardOptions["rewrite"]>,
	): Promise<WholeBody | "gone" | undefined> {
		const { request, route, maxBodyBytes, budget } = this.#options;
		const { "content-length": length, "content-encoding": encoding } = request.headers;
		const bytes = Number(length ?? 0);
		if (request.method !== "POST" || isSigned(request.headers)) return undefined;
		if (bytes === 0 || bytes > maxBodyBytes || !budget.take(bytes)) return undefined;
		this.#heldBytes = bytes;
		const body = await wholeBody(request, bytes);
		if (!body) return "gone";
		const rewriting = optional(() => rewrite({ path: route.path, encoding, body }));
		const { body: sent = body, savings, refused } = rewriting ?? {};
		this.#whole = { body, sent, isOwn: sent !== body, savings, refused };
		this.bytesSent += sent.length;
		return this.#whole;
	}

	/** If the provider refuses what was rewritten, it gets what the client sent. */
	#withSecondTry(
		whole: WholeBody,
		send: (body: Buffer, handler: Dispatcher.DispatchHandler) => void,
	): SecondTry {
		const { body } = whole;
		return new SecondTry({
			handler: this,
			dispatch: (handler) => {
				this.bytesSent += body.length;
				send(body, handler);
			},
			onOriginal: (status) => {
				const savings = status < 300 ? optional(() => whole.refused?.()) : undefined;
				this.#whole = { body, sent: body, isOwn: false, savings, refused: undefined };
			},
		});
	}

	#fail(error: Error): void {
		const { response, route } = this.#options;
		if (response.closed || this.#isAnswered) return;
		this.#upload?.destroy();
		if (this.#answer) {
			this.#failure = "upstream-cut";
			// Without a regular end. What has arrived still reaches the client.
			if (response.socket) response.socket.destroySoon();
			else response.destroy();
			return;
		}
		this.#failure = "upstream-failed";
		sendRefusal(response, refusalFor(error, route), route.upstream.name);
	}

	#close(): void {
		if (!this.#isAnswered && !this.#failure) {
			this.#controller?.abort(new Error("the client is gone"));
		}
		this.#closed.resolve();
	}

	/** In memory of its own, since an exchange is transferred and a rewriter may keep the original. */
	async #sentBody(): Promise<Uint8Array | undefined> {
		if (!this.#whole) return this.#sent?.join();
		const { sent, isOwn } = this.#whole;
		if (isOwn) return sent;
		const copy = new BodyCopy(this.#options, sent.length);
		this.#sent = copy;
		for (let at = 0; at < sent.length; at += COPY_STEP_BYTES) {
			copy.add(sent.subarray(at, at + COPY_STEP_BYTES));
		}
		return copy.join();
	}

	async #exchange(): Promise<Exchange> {
		const endedMs = Date.now();
		const { request, response, route } = this.#options;
		const { rawHeaders, method = "" } = request;
		const encoding = headerIn(rawHeaders, "content-encoding");
		const answer = this.#answer;
		const requestBody = request.complete ? await this.#sentBody() : undefined;
		const answerBody = await this.#received?.join();
		const isDelivered = this.#isAnswered && response.writableFinished;
		return {
			startedMs: this.#startedMs,
			...(answer && { firstByteMs: answer.atMs, status: answer.status }),
			endedMs,
			upstream: route.upstream.name,
			method,
			path: route.path,
			requestHeaders: publicHeaders(rawHeaders),
			...(requestBody && { requestBody }),
			...(encoding !== undefined && { requestEncoding: encoding }),
			...(answer?.type !== undefined && { answerType: answer.type }),
			...(answer?.encoding !== undefined && { answerEncoding: answer.encoding }),
			...(answerBody && { answerBody }),
			...(this.#whole?.savings && { savings: this.#whole.savings }),
			end: this.#failure ?? (isDelivered ? "complete" : "client-gone"),
		};
	}
}

/** `undefined` if the client does not send all of it. */
function wholeBody(request: IncomingMessage, bytes: number): Promise<Buffer | undefined> {
	const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
	const body = Buffer.allocUnsafeSlow(bytes);
	let at = 0;
	request.on("data", (chunk: Buffer) => {
		at += chunk.copy(body, at);
	});
	request.on("end", () => resolve(at === bytes ? body : undefined));
	request.on("error", () => {}); // "close" follows
	request.on("close", () => resolve(undefined));
	return promise;
}

/** Whether a header vouches for the bytes of the body. */
function isSigned({ authorization = "", ...headers }: IncomingHttpHeaders): boolean {
	const names = ["content-md5", "digest", "content-digest", "repr-digest", "signature"];
	const isNamed = [...names, "x-amz-content-sha256"].some((name) => headers[name] !== undefined);
	return isNamed || authorization.startsWith("AWS4-");
}

/** Raw headers with another length of the body. */
function withLength(raw: readonly string[], length: number): string[] {
	return [...pairs(raw)].flatMap(([name, value]) =>
		name.toLowerCase() === "content-length" ? [name, String(length)] : [name, value],
	);
}

/** For what a proxy may drop: it must not fail the answer, whatever is thrown. */
function optional<Result>(act: () => Result): Result | undefined {
	try {
		return act();
	} catch {
		return undefined; // dropped
	}
}

/** Of the interim answers Node can send these. 100 is sent already; a proxy may drop others. */
function forwardInterim(response: ServerResponse, status: number, raw: readonly string[]): void {
	if (status === 102) response.writeProcessing();
	if (status !== 103) return;
	const hints: Record<string, string | string[]> = { link: [] };
	for (const [name, value] of pairs(endToEnd(raw))) {
		const before = hints[name.toLowerCase()];
		hints[name.toLowerCase()] = before === undefined ? value : [before, value].flat();
	}
	response.writeEarlyHints(hints);
}

/** The message names the cause, never an address with its path or a header. */
function refusalFor(error: Error, { upstream }: Route): Refusal {
	const code = errnoOf(error) ?? "unknown error";
	if (code === "UND_ERR_HEADERS_TIMEOUT") {
		const message = `${upstream.name} did not answer in time`;
		return { status: 504, reason: "upstream-timeout", message };
	}
	const message = `${upstream.name} cannot be reached (${code})`;
	return { status: 502, reason: "upstream-failed", message };
}

type RawHeaders = Dispatcher.DispatchController["rawHeaders"];

/** Header bytes as the strings that Node writes back as the same bytes. */
function textsOf(raw: RawHeaders): string[] {
	if (!Array.isArray(raw)) return [];
	return raw.map((part) => (typeof part === "string" ? part : part.toString("latin1")));
}

/** Node sends no other reason phrase. Clients ignore it. */
function isPlainReason(message: string | undefined): boolean {
	return message !== undefined && /^[\t\x20-\x7e]*$/.test(message);
}

function lengthIn(value: string | undefined): number | undefined {
	return value === undefined ? undefined : Number(value);
}
