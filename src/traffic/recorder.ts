import { join } from "node:path";
import { ObjectStore } from "../core/object-store.ts";
import type { Exchange } from "../wire/exchange.ts";
import { Book, TEXTS_FOLDER } from "./book.ts";
import { type BookedConversation, latestRequests } from "./book-rows.ts";
import { Conversations, type Place } from "./conversations.ts";
import { missOf, modelFor, priceOf } from "./diagnose.ts";
import { ExchangeReader, type ExchangeReading } from "./exchange-reader.ts";
import type { Conversation } from "./sent-request.ts";
import { headOf, isByModel, type TracedRequest } from "./trace.ts";

export interface RecorderOptions {
	readonly folder: string;
	/** Conversations unused for this many days are deleted. */
	readonly keepDays: number;
	/** Whether bodies are stored beside the book. */
	readonly keepTexts: boolean;
}

/** `other` and `unreadable` as in {@link ExchangeReading}. */
export type Recorded =
	| { readonly kind: "other" | "unreadable" }
	| { readonly kind: "booked"; readonly conversation: number; readonly request: number };

const DAY_MS = 24 * 60 * 60 * 1000;
/** How often unused conversations are deleted. */
const SWEEP_MS = 60 * 60 * 1000;
const MAX_TEXT_BYTES = 512 * 1024 * 1024;

/** What a restart continues: the latest conversations, and the latest requests of each. */
const RESTORED = { conversations: 64, requests: 32, days: 7 };

/** Reads exchanges, finds their conversations, diagnoses their misses and books them. */
export class Recorder {
	readonly #options: RecorderOptions;
	readonly #book: Book;
	readonly #texts: ObjectStore | undefined;
	readonly #reader = new ExchangeReader();
	readonly #conversations = new Conversations();
	readonly #now: () => number;
	#sweptMs = Number.NEGATIVE_INFINITY;
	/** The version of the book that is in memory. */
	#restored: number | undefined;

	/** Rejects if the book cannot be opened. */
	static async open(options: RecorderOptions, now = Date.now): Promise<Recorder> {
		const book = await Book.open(options.folder);
		try {
			return new Recorder(options, book, now);
		} catch (error) {
			book.close();
			throw error;
		}
	}

	constructor(options: RecorderOptions, book: Book, now: () => number) {
		this.#options = options;
		this.#book = book;
		this.#now = now;
		if (options.keepTexts) {
			this.#texts = new ObjectStore({
				folder: join(options.folder, TEXTS_FOLDER),
				name: "traffic-texts",
				version: 1,
				maxBytes: MAX_TEXT_BYTES,
				maxAgeMs: options.keepDays * DAY_MS,
			});
		}
		this.#restore();
	}

	async add(exchange: Exchange): Promise<Recorded> {
		await this.#sweep();
		const reading = this.#reader.read(exchange);
		if (reading.kind !== "request") return reading;
		const { request, answer, isListPriced } = reading;
		const texts = await this.#keepTexts(reading);
		const place = this.#place(request);
		const names = [request.model, ...(answer.model ? [answer.model] : [])];
		const model = modelFor(exchange.upstream, names);
		const price = request.tokens && answer.usage && priceOf(answer.usage, model);
		const miss = missOf(request, place, model);
		const booked = this.#book.add({
			...{ exchange, request, answer, place },
			...(price && { price: isListPriced ? price : withoutDollars(price) }),
			...(miss && { miss: isListPriced ? miss : withoutDollars(miss) }),
			...(texts && { texts }),
		});
		// Afterwards: what the book could not take is not a base for others.
		place.conversation.id = booked.conversation;
		this.#conversations.add(request, place.conversation).id = booked.request;
		return { kind: "booked", ...booked };
	}

	close(): void {
		this.#book.close();
	}

	/** A conversation that begins with a history may be in the book, from another process. */
	#place(request: TracedRequest): Place {
		const place = this.#conversations.place(request);
		const isLate = place.step === "start" && request.messages.some(isByModel);
		if (!isLate || this.#book.version() === this.#restored) return place;
		this.#restore();
		return this.#conversations.place(request);
	}

	/** Rebuilds the latest conversations from the book, as far as they are not in memory. */
	#restore(): void {
		this.#restored = this.#book.version();
		const sinceMs = this.#now() - RESTORED.days * DAY_MS;
		const booked = this.#book.conversations({ sinceMs, limit: RESTORED.conversations });
		for (const one of booked.reverse()) {
			if (this.#conversations.has(one.id)) continue;
			const conversation = continued(one);
			const heads = this.#book.heads(one.id);
			const requests = this.#book.requests(one.id);
			const latest = latestRequests(requests, RESTORED.requests);
			for (const { request, messages } of latest) {
				const traced: TracedRequest = {
					...{ format: one.format, model: request.model, speaker: one.speaker, messages },
					head: heads.get(request.head) ?? headOf([]),
					...(one.cacheKey && { cacheKey: one.cacheKey }),
					...{ settings: request.settings, isPartial: request.step === "partial" },
					startedMs: request.startedMs,
					cachedMs: request.firstByteMs ?? request.endedMs,
					...(request.tokens && { tokens: request.tokens }),
					...(request.lastPrompt && { lastPrompt: request.lastPrompt }),
					...(request.ttl && { ttl: request.ttl }),
					...(request.cleared && { cleared: request.cleared }),
				};
				this.#conversations.add(traced, conversation).id = request.id;
			}
		}
	}

	async #keepTexts({ requestBody, answerBody }: ExchangeReading & { kind: "request" }) {
		if (!this.#texts) return undefined;
		const request = await this.#texts.put(requestBody);
		const answer = answerBody && (await this.#texts.put(answerBody));
		return {
			...(request.kind !== "failed" && { request: request.hash }),
			...(answer && answer.kind !== "failed" && { answer: answer.hash }),
		};
	}

	async #sweep(): Promise<void> {
		const nowMs = this.#now();
		if (nowMs - this.#sweptMs < SWEEP_MS) return;
		this.#sweptMs = nowMs;
		this.#book.deleteUnused(nowMs - this.#options.keepDays * DAY_MS);
		await this.#texts?.sweep();
	}
}

function withoutDollars<T extends { readonly dollars?: number }>(price: T): Omit<T, "dollars"> {
	const { dollars: _, ...rest } = price;
	return rest;
}

function continued(booked: BookedConversation): Conversation {
	const { id, format, speaker, cacheKey, usedMs } = booked;
	const begun = { names: new Set<string>(), heads: [], billed: [] };
	return { id, format, speaker, usedMs, ...begun, ...(cacheKey && { cacheKey }) };
}
