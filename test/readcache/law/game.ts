import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
	fauxAssistantMessage,
	fauxThinking,
	fauxToolCall,
	type JsonValue,
	type ToolResultMessage,
} from "@earendil-works/pi-ai";
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { type Config, loadConfig } from "../../../src/core/config.ts";
import { INVALIDATION_ENTRY, PIN_ENTRY, SEEN_FILES_ENTRY } from "../../../src/core/entry-types.ts";
import { property } from "../../../src/core/property.ts";
import { foldReadInput } from "../../../src/core/read-input.ts";
import { returnedHash } from "../../../src/readcache/file-event-log.ts";
import { ReadCache } from "../../../src/readcache/read-cache.ts";
import { filesInView } from "../../../src/readcache/seen-files.ts";
import { createReadCacheStore } from "../../../src/readcache/store.ts";
import { invalidationFor, noteOwnEdit } from "../../../src/readcache/system.ts";
import { lastBoundAnswer } from "../../../src/session/cache-clock.ts";
import { Ledger } from "../../../src/session/index.ts";
import { sdk } from "../../support/pi-sdk.ts";
import { checkBacked, checkReferences, createGameBirth, type GameBirth } from "./birth.ts";
import { type Call, createCaller, type Topic } from "./calls.ts";
import { createMeddler, type Meddler, meddleWithResult, type Result } from "./meddlers.ts";
import { type Compacted, checkNote } from "./note.ts";
import {
	type AnswerKind,
	type Asked,
	type Deed,
	describe,
	forgetLinked,
	judge,
	type Slot,
	stands,
	textOf,
} from "./oracle.ts";
import { blobPathsIn, createGamePaging, type GamePaging, type ReadArgs } from "./paging.ts";
import { createGamePruning, type GamePruning } from "./pruning.ts";
import type { Random } from "./random.ts";
import { createTools, settled } from "./tools.ts";
import { createWorld, type Manners } from "./world.ts";

/** One random session. */
export interface Game {
	step(): Promise<void>;
	/** What happened last, oldest first. */
	trace(): string[];
	end(): Promise<void>;
}

export interface GameOptions {
	/** A folder for everything the session leaves on the disk. */
	root: string;
	number: number;
	random: Random;
	/** Counts how reads were answered. */
	answers: Record<AnswerKind, number>;
	/**
	 * Counts what our own pruning replaced, what paging answered, the answers that pruning had to leave standing, and the
	 * prunings that thinking in view kept from text before it; results that were shortened at birth, and references that a
	 * pruning had to leave standing; references in requests, and those whose lines a request shows again; files that a note
	 * after a compaction named.
	 */
	counts: {
		pruned: number;
		paged: number;
		guarded: number;
		bound: number;
		shortened: number;
		backed: number;
		references: number;
		restored: number;
		noted: number;
	};
}

/** A call, and what becomes of it. */
interface Done {
	call: Call;
	result: Result;
	deed?: Deed | undefined;
	/** The read, if it was answered with a marker or a diff. */
	asked?: Asked | undefined;
}

/** What lives as long as pi's process does. */
interface Life {
	ledger: Ledger;
	cache: ReadCache;
	meddler: Meddler;
	pruning: GamePruning;
	paging: GamePaging;
	birth: GameBirth | undefined;
	isObserved: boolean;
	/** The last request, if it was observed. */
	sent?: Slot[];
	/** What was in view before a compaction that no prompt has followed yet. */
	compacted?: Compacted;
	/** What files were before the edits that are under way, by call. */
	beforeEdits: Map<string, string>;
}

/** Sets up the files and an empty session. */
export function createGame(options: GameOptions): Game {
	const { root, number, random, answers, counts } = options;
	// Some sessions are calm, so that knowledge can grow old; some have an extension that cannot leave well alone.
	const zeal = random.pick([0, 0.02, 0.02, 0.15]);
	const trouble = random.pick([0, 0.01, 0.06]);
	const manners: Manners = {
		focus: random.pick([5, 12, 60, 60]),
		changes: random.pick(["any", "small", "flip"]),
	};
	const world = createWorld(join(root, "work"), random, manners);
	const { cwd } = world;
	const storeDir = join(root, `store-${number}`);
	const blobs = join(root, `blobs-${number}`);
	const config = defaults(root, blobs);
	const settings: Config["readcache"] = { ...config.readcache, storeDir };
	const limits = { maxLines: sdk.DEFAULT_MAX_LINES, maxBytes: sdk.DEFAULT_MAX_BYTES };
	const tools = createTools(cwd);
	const observed = random.pick([1, 1, 0.3]);
	const sameIds = random.pick([0, 0, 0.02, 0.4]);
	const ranges = random.pick([0.1, 0.3, 0.85]);
	const paged = random.pick([0, 0.05, 0.05, 0.3]);
	const tokens: string[] = [];
	const pages = () => ({ tokens, blobs: someBlobs() });
	const someCall = createCaller(world, random, { ranges, sameIds, paged, pages });
	const isSaved = random.chance(0.15);
	const shortens = random.chance(0.6);
	// The model thinks now and then, and its thinking is bound to all that was sent before it.
	const binds = random.chance(0.35);

	const deeds = new Map<string, Deed>();
	/** Markers and diffs by their entries, with the texts that they are. */
	const derived = new Map<string, { asked: Asked; text: string | undefined }>();
	/** The model's answers right behind pins, by the entries that are pinned. */
	const pinned = new Map<string, string>();
	const texts: string[] = [];
	const events: string[] = [];
	let clock = 0;
	let manager: SessionManager = isSaved
		? sdk.SessionManager.create(cwd, join(root, "sessions"))
		: sdk.SessionManager.inMemory(cwd);
	let life = newLife();
	manager.appendMessage({ role: "user", content: "go", timestamp: 0 });

	return {
		async step() {
			const act = random.weighted<() => void | Promise<void>>([
				[50, () => turn()],
				[26, disturb],
				[5, detour],
				[3, quarrel],
				[2, compact],
				[4, jump],
				[4, editContext],
				[3, pruneContext],
				[3, pruneAfterEdit],
				[2.5, resume],
				[0.5, fork],
				[2, damageStore],
				[2, addEntry],
			]);
			await act();
		},
		trace: () => events.slice(-60),
		async end() {
			await endLife();
			for (const folder of [storeDir, blobs]) rmSync(folder, { recursive: true, force: true });
			if (isSaved) rmSync(join(root, "sessions"), { recursive: true, force: true });
		},
	};

	function newLife(): Life {
		const ledger = new Ledger({ returnedHash });
		const store = createReadCacheStore(settings, cwd);
		const cache = new ReadCache({ settings, cwd, ledger, store, limits });
		// Callers who use the tool without pi's loop never show us a request.
		const isObserved = random.chance(observed);
		const meddler = createMeddler(random, zeal);
		const appendEntry = (type: string, data: unknown) => void manager.appendCustomEntry(type, data);
		const pruning = createGamePruning({ cwd, settings: config, random, binds, appendEntry });
		const paging = createGamePaging({ world, settings: config, tokens });
		const { edits } = pruning;
		const birth = shortens ? createGameBirth({ config, cwd, ledger, edits, binds }) : undefined;
		return { ledger, cache, meddler, pruning, paging, birth, isObserved, beforeEdits: new Map() };
	}

	async function endLife(): Promise<void> {
		await life.cache.flush();
		await life.paging.close();
	}

	function note(event: string): void {
		events.push(event);
		if (events.length > 200) events.splice(0, 100);
	}

	// --- one turn of the model ---

	async function turn(topic?: Topic): Promise<void> {
		await noteSeen();
		if (random.chance(0.3)) manager.appendMessage({ role: "user", content: "go on", timestamp: 0 });
		const sent = sendRequest();
		const calls = Array.from({ length: random.pick([1, 1, 1, 2, 2, 3, 4]) }, () => someCall(topic));
		if (calls.length > 1 && random.chance(sameIds / 4))
			(calls[1] as Call).id = (calls[0] as Call).id;
		const blocks = calls.map(({ id, name, args }) => fauxToolCall(name, args as never, { id }));
		const callEntryId = manager.appendMessage(
			fauxAssistantMessage([...thoughts(), ...blocks], { stopReason: "toolUse", timestamp: 0 }),
		);
		const request = () => (sent && !calls.some(isChange) ? sent : withOwnDoings(sent));
		const run = async (call: Call) =>
			shortened(await execute(call, callEntryId, request), request());
		const way = random.weighted([
			[3, "at once"],
			[2, "one by one"],
			[1, "in any order"],
		] as const);
		if (way === "one by one") {
			for (const call of calls) {
				await prepare(call);
				store(await run(call));
				if (random.chance(0.1)) disturb();
			}
		} else if (way === "at once" && calls.every(({ name }) => name === "read")) {
			for (const done of await Promise.all(calls.map(run))) store(done);
		} else {
			for (const call of calls) await prepare(call);
			const finished = new Map<Call, Done>();
			for (const call of way === "at once" ? calls : shuffled(calls)) {
				finished.set(call, await run(call));
				if (random.chance(0.1)) disturb();
			}
			for (const call of calls) store(finished.get(call) as Done);
		}
		if (random.chance(0.04)) await refresh();
		for (const entryId of life.pruning.persist(manager)) note(`context edit of ${entryId}: pruned`);
		if (!sent) return;
		for (const entryId of life.birth?.persist(manager) ?? [])
			note(`context edit of ${entryId}: its lines`);
	}

	function thoughts() {
		return binds && random.chance(0.4) ? [fauxThinking("hm")] : [];
	}

	/** Sends the request as pi builds it and as other extensions leave it; `undefined` where nobody observes it. */
	function sendRequest(): Slot[] | undefined {
		if (!life.isObserved) return undefined;
		const pruned = life.pruning.apply(project());
		const request = life.birth?.restore(pruned, manager) ?? pruned;
		checkBackedIn(pruned, request);
		if (binds) life.pruning.edits.noteBinding(manager, messagesIn(request));
		const { sent, did } = life.meddler.send(request);
		for (const what of did) note(`  in the request: ${what}`);
		life.ledger.observe(manager, messagesIn(sent));
		life.beforeEdits.clear();
		life.sent = sent;
		return sent;
	}

	/** Our own request has the lines of all references, as far as that costs no thinking. */
	function checkBackedIn(before: Slot[], after: Slot[]): void {
		const ids = Map.groupBy(after, ({ message }) => property(message, "toolCallId"));
		const bound = lastBoundAnswer(manager, () => binds);
		const branch = manager.getBranch();
		const lastBound = branch.findLastIndex(({ id }) => id === bound);
		const free = new Set(branch.slice(lastBound + 1).map(({ id }) => id));
		const isExempt = ({ entryId, message }: Slot) =>
			!free.has(entryId) || (ids.get(property(message, "toolCallId"))?.length ?? 0) > 1;
		counts.references += checkReferences(after, isExempt);
		counts.restored += before.filter((slot, at) => slot.message !== after[at]?.message).length;
	}

	/** What the model has before it, and what it has done since in the same message. */
	function withOwnDoings(sent: Slot[] | undefined): Slot[] {
		if (!sent) return project();
		const known = new Set(sent.map(({ entryId }) => entryId));
		const since = project().filter(({ entryId }) => !known.has(entryId));
		return [
			...sent,
			...since.filter(
				({ entryId, message }) =>
					message?.role === "assistant" || deeds.get(entryId)?.kind === "edit",
			),
		];
	}

	function project(): Slot[] {
		return manager.buildSessionProjection().entries.map(({ sourceEntry, messages }) => ({
			entryId: sourceEntry.id,
			message: messages.at(-1) as Slot["message"],
		}));
	}

	/** As the extension does when pi tells it of the result, before other extensions hear of it. */
	async function shortened(done: Done, request: Slot[]): Promise<Done> {
		const result = await life.birth?.shorten(done.call, done.result, request, manager);
		if (!result || result === done.result) return done;
		counts.shortened++;
		note(`${done.call.id} is shortened`);
		return { ...done, result };
	}

	async function execute(call: Call, callEntryId: string, request: () => Slot[]): Promise<Done> {
		switch (call.name) {
			case "read":
				return read(call, request());
			case "bash":
				return { call, result: { content: [{ type: "text", text: output() }], isError: false } };
			default:
				return change(call, callEntryId);
		}
	}

	/** What a command prints: nothing much, or a file, perhaps after lines that repeat. */
	function output(): string {
		const { bytes } = world.look(world.file());
		if (random.chance(0.3) || !bytes) return "ok";
		const waiting = random.chance(0.2) ? "waiting for the server to start\n" : "";
		return waiting.repeat(random.between(1, 60)) + bytes.toString("utf8");
	}

	async function read(call: Call, request: Slot[]): Promise<Done> {
		const args = foldReadInput(call.args) as ReadArgs;
		const answered = await life.paging.read(args);
		if (answered) {
			note(`${call.id} read ${JSON.stringify(args)} in chunks`);
			counts.paged++;
			return { call, ...answered };
		}
		const asked = ask(args);
		const [own, result] = await Promise.all([
			tools.read(asked.plainArgs, asked.bytes),
			settled(life.cache.read({ toolCallId: call.id, ...args }, manager, tools.plain)),
		]);
		const expected = asked.isWrongRange ? { error: "Invalid line range" } : own;
		const got =
			"error" in result && asked.isWrongRange
				? { error: result.error.slice(0, "Invalid line range".length) }
				: result;
		note(`${call.id} read ${JSON.stringify(args)}`);
		const whole: Asked = { ...asked, at: ++clock, expected, got };
		const { kind, deed } = judged(whole, request);
		answers[kind]++;
		events[events.length - 1] += ` = ${kind}`;
		if ("error" in result) return { call, result: failed(result.error), deed };
		const isDerived = deed.kind === "marker" || deed.kind === "diff";
		return {
			call,
			result: { ...result, isError: false },
			deed,
			...(isDerived && { asked: whole }),
		};
	}

	function judged(asked: Asked, request: Slot[]) {
		try {
			return judge(asked, request, deeds);
		} catch (error) {
			for (const line of describe(asked.file, request, deeds)) note(`the request holds ${line}`);
			throw error;
		}
	}

	/** What a read is about. A path that exists as it is written wins over one with a range behind it. */
	function ask(args: ReadArgs) {
		const { path, offset, limit } = args;
		const range = /^(.+):(\d+)(?:-(\d+))?$/.exec(path);
		const isLiteral = !range || offset !== undefined || limit !== undefined || world.exists(path);
		if (isLiteral)
			return { ...world.look(path), offset, limit, plainArgs: args, isWrongRange: false };
		const [, inner = "", first, last = first] = range;
		const target = world.look(inner);
		if (!world.exists(inner)) {
			return { ...target, offset, limit, plainArgs: args, isWrongRange: false };
		}
		const [start, end] = [Number(first), Number(last)];
		const plainArgs = { path: inner, offset: start, limit: end - start + 1 };
		return {
			...target,
			offset: start,
			limit: plainArgs.limit,
			plainArgs,
			isWrongRange: end < start,
		};
	}

	/** As the extension does when pi tells it of a call. */
	async function prepare(call: Call): Promise<void> {
		if (!isChange(call)) return;
		const before = await noteOwnEdit(call.args, cwd, settings);
		if (before) life.beforeEdits.set(call.id, before.servedHash);
	}

	async function change(call: Call, callEntryId: string): Promise<Done> {
		const path = call.args.path as string;
		const { file, isLinked, bytes } = world.look(path);
		const before = bytes?.toString("utf8") ?? "";
		const result = await tools[call.name as "edit" | "write"](call.args);
		note(`${call.id} ${call.name} ${path}${"error" in result ? " failed" : ""}`);
		if ("error" in result) return { call, result: failed(result.error) };
		const change =
			call.name === "write"
				? { content: call.args.content as string }
				: (call.args.edits as { oldText: string; newText: string }[]);
		const deed: Deed = { kind: "edit", file, isLinked, at: ++clock, callEntryId, before, change };
		// As the extension does when pi tells it of the result.
		const own = await noteOwnEdit(call.args, cwd, settings);
		const baseHash = life.beforeEdits.get(call.id);
		life.beforeEdits.delete(call.id);
		const readcache = own && { ...own, ...(baseHash && { baseHash }) };
		const details = readcache ? { ...result.details, readcache } : result.details;
		return { call, result: { ...result, details, isError: false }, deed };
	}

	/** Puts a result into the session, after other extensions have had it in their hands. */
	function store({ call, result, deed, asked }: Done): void {
		const text = result.content[0]?.text;
		const meddled = random.chance(trouble) && meddleWithResult(result, texts, random);
		if (call.name === "read" && text !== undefined && deed?.kind === "literal") texts.push(text);
		if (texts.length > 6) texts.shift();
		const { content, details, isError } = result;
		const entryId = manager.appendMessage({
			role: "toolResult",
			toolCallId: call.id,
			toolName: call.name,
			content: content as ToolResultMessage["content"],
			details: details as JsonValue,
			isError,
			timestamp: 0,
		});
		if (deed) deeds.set(entryId, asStored(deed, content));
		if (asked && !meddled) derived.set(entryId, { asked, text });
		note(`  ${entryId} is the result of ${call.id}${meddled ? `, ${meddled}` : ""}`);
	}

	// --- everything else that happens to a session ---

	async function refresh(): Promise<void> {
		const path = world.path();
		const total = world.linesOf(path).length;
		const start = random.between(1, total);
		const range = random.chance(0.5) ? { start, end: start + random.below(10) } : undefined;
		const request = { path, ...(range && { range }) };
		const entry = await settled(invalidationFor(request, cwd, settings, 0));
		if ("error" in entry) return;
		const entryId = manager.appendCustomEntry(INVALIDATION_ENTRY, entry);
		const last = Math.min(range?.end ?? total, total);
		const isWhole = !range || (range.start === 1 && last === total);
		const lines = isWhole ? undefined : { start: range.start, end: last };
		deeds.set(entryId, { kind: "refresh", file: world.look(path).file, range: lines });
		note(`${entryId} refresh ${path} ${JSON.stringify(lines)}`);
	}

	function disturb(): void {
		const times = random.pick([1, 1, 2]);
		for (let i = 0; i < times; i++) {
			const did = world.disturb();
			if (did.includes(" -> ")) forgetLinked(deeds);
			note(`other program: ${did}`);
		}
	}

	/** The model looks at a file while it is different for a while, and again when it is as before. */
	async function detour(): Promise<void> {
		const path = world.file();
		const bringBack = world.keep(path);
		note(`other program, for a while: ${world.changeForAWhile(path)}`);
		await turn({ path, name: "read", ranges: 0.7 });
		bringBack();
		note(`other program: ${path} as before`);
		await turn({ path, name: "read", ranges: 0.7 });
	}

	/** The model edits a file, and somebody else undoes it. */
	async function quarrel(): Promise<void> {
		const path = world.file();
		for (let edits = random.between(1, 3); edits > 0; edits--) {
			const bringBack = world.keep(path);
			await turn({ path, name: "edit" });
			if (random.chance(0.4)) continue;
			bringBack();
			note(`other program: ${path} as before`);
		}
		await turn({ path, name: "read", ranges: 0.3 });
	}

	function compact(): void {
		const branch = manager.getBranch();
		const kept = random.chance(0.3) || branch.length === 0 ? null : random.pick(branch).id;
		const here = new Set(project().map(({ entryId }) => entryId));
		const request = withOwnDoings(life.sent?.filter(({ entryId }) => here.has(entryId)));
		life.compacted = { files: filesInView(life.cache.events, manager), request };
		manager.appendCompaction("summary", kept, 1000);
		note(`compaction, kept from ${kept}`);
	}

	/** As the extension does with the first prompt after a compaction: it names files that were in view. */
	async function noteSeen(): Promise<void> {
		const { compacted } = life;
		delete life.compacted;
		if (!compacted) return;
		const events = life.cache.events;
		const view = { events, source: manager, eligibility: settings };
		const { text, files } = await checkNote(compacted, { view, cwd, deeds });
		counts.noted += files;
		if (text === undefined) return;
		manager.appendCustomMessageEntry(SEEN_FILES_ENTRY, text, true);
		note(`note: ${text}`);
	}

	/** Half the time the stubs are persisted at once, as at the end of a turn; else the next request has them first. */
	async function pruneContext(): Promise<void> {
		const before = life.pruning.apply(project());
		const pruned = await life.pruning.begin(manager);
		counts.pruned += pruned;
		note(`pruning of ${pruned} results`);
		checkGuarded(before, life.pruning.apply(project()));
		checkBound(before, life.pruning.apply(project()));
		counts.backed += checkBacked(before, life.pruning.apply(project()));
		// Who does not show us requests cannot have stubs in them either.
		if (life.isObserved && random.chance(0.5)) return;
		for (const entryId of life.pruning.persist(manager)) note(`context edit of ${entryId}: pruned`);
	}

	/** The model reads a file, edits it and looks again; then the cache grows cold, before it answers or with a pin. */
	async function pruneAfterEdit(): Promise<void> {
		const path = world.file();
		await turn({ path, name: "read", ranges: 0.3 });
		for (let edits = random.between(1, 2); edits > 0; edits--) {
			await turn({ path, name: "edit" });
			await turn({ path, name: "read", ranges: 0.2 });
		}
		if (random.chance(0.5)) pin();
		await pruneContext();
	}

	/** The user pins an answer that stands on others, and the model goes on. */
	function pin(): void {
		const entry = manager.getBranch().findLast(({ id }) => derived.has(id));
		if (entry?.type !== "message" || entry.message.role !== "toolResult") return;
		const { toolCallId } = entry.message;
		manager.appendCustomEntry(PIN_ENTRY, { toolCallId, pinned: true });
		manager.appendMessage(fauxAssistantMessage("I see", { timestamp: 0 }));
		pinned.set(entry.id, manager.getLeafId() ?? "");
		note(`pin of ${entry.id}`);
	}

	/** Pruning has put a stub in the place of text. Unlike what others put there, it hides no text that nobody knows. */
	function isTaken(before: Slot | undefined, { entryId, message }: Slot): boolean {
		if (deeds.get(entryId)?.kind === "edit") return false;
		return textOf(message?.content) !== textOf(before?.message?.content);
	}

	/** What the model has yet to answer, or the user has pinned, must stand on the same text after a pruning as before. */
	function checkGuarded(before: Slot[], after: Slot[]): void {
		const lastAnswer = before.findLastIndex(({ message }) => message?.role === "assistant");
		for (const [at, { entryId, message }] of before.entries()) {
			const answer = derived.get(entryId);
			if (!answer || (at < lastAnswer && !isPinned(entryId))) continue;
			if (textOf(message?.content) !== answer.text) continue; // another extension's by now
			if (!stands(answer.asked, before.slice(0, at), deeds)) continue;
			counts.guarded++;
			const left = after.slice(0, at).filter((slot, index) => !isTaken(before[index], slot));
			if (stands(answer.asked, left, deeds)) continue;
			for (const line of describe(answer.asked.file, after, deeds)) note(`now there is ${line}`);
			throw new Error(`pruning took the text that ${entryId} stands on`);
		}
	}

	/** Behind a text that a pruning took there is no thinking, but for what a compaction has made worthless before. */
	function checkBound(before: Slot[], after: Slot[]): void {
		const branch = manager.getBranch();
		const compacted = branch.findLastIndex(({ type }) => type === "compaction");
		const alive = new Set(branch.slice(compacted + 1).map(({ id }) => id));
		const lastThought = before.findLastIndex(
			({ entryId, message }) =>
				alive.has(entryId) &&
				message?.role === "assistant" &&
				JSON.stringify(message.content).includes('"thinking"'),
		);
		if (lastThought < 0) return;
		counts.bound++;
		for (const [at, { entryId, message }] of before.slice(0, lastThought).entries()) {
			if (textOf(after[at]?.message?.content) === textOf(message?.content)) continue;
			throw new Error(`pruning changed ${entryId}, and thinking behind it is lost`);
		}
	}

	/** A pin counts as long as it is in the context, like the answer behind it. */
	function isPinned(entryId: string): boolean {
		const answer = pinned.get(entryId);
		return answer !== undefined && project().some((slot) => slot.entryId === answer);
	}

	function jump(): void {
		life.pruning.forget();
		delete life.compacted;
		const entries = manager.getEntries();
		if (random.chance(0.05) || entries.length === 0) {
			manager.resetLeaf();
			manager.appendMessage({ role: "user", content: "again", timestamp: 0 });
			note("jump to the start");
			return;
		}
		const near = entries.slice(random.chance(0.5) ? -15 : 0);
		const { id } = random.pick(near);
		if (random.chance(0.3)) manager.branchWithSummary(id, "the other branch");
		else manager.branch(id);
		note(`jump to ${id}`);
	}

	async function editContext(): Promise<void> {
		const results = manager
			.getBranch()
			.flatMap((entry) => (entry.type === "message" ? [entry] : []))
			.filter(({ message }) => message.role === "toolResult");
		if (results.length === 0) return;
		const target = random.pick(results.slice(-random.between(1, 20)));
		const { content } = target.message as ToolResultMessage;
		const [name, replacement] = random.weighted([
			[2, ["stub", { content: [{ type: "text" as const, text: "[pruned]" }] }] as const],
			[2, ["remove", null] as const],
			[3, ["original", { content: structuredClone(content) }] as const],
			[1, ["older text", { content: texts[0] ?? "" }] as const],
		]);
		manager.appendContextEdit(target.id, replacement as never);
		note(`context edit of ${target.id}: ${name}`);
		if (random.chance(0.3)) await resume();
	}

	async function resume(): Promise<void> {
		await endLife();
		const file = manager.getSessionFile();
		if (file && random.chance(0.7)) manager = sdk.SessionManager.open(file);
		life = newLife();
		note("resume");
	}

	async function fork(): Promise<void> {
		const leafId = manager.getLeafId();
		if (leafId === null) return;
		await endLife();
		manager.createBranchedSession(leafId);
		life = newLife();
		note("fork");
	}

	async function damageStore(): Promise<void> {
		await life.cache.flush();
		const folder = join(storeDir, "objects");
		const names = existsSync(folder) ? readdirSync(folder).sort() : [];
		const share = random.pick([0.1, 1]);
		for (const name of names.filter(() => random.chance(share))) {
			const path = join(folder, name);
			if (random.chance(0.5)) rmSync(path, { force: true });
			else writeFileSync(path, world.look(world.file()).bytes ?? "tampered with");
		}
		note("store damaged");
	}

	/** Entries that the cache has no business with. */
	function addEntry(): void {
		random.pick([
			() => manager.appendModelChange("faux", "faux-1"),
			() => manager.appendThinkingLevelChange("off"),
			() => manager.appendCustomEntry("other-extension", { v: 1, kind: "invalidate" }),
			() => manager.appendCustomEntry(INVALIDATION_ENTRY, { v: 2, kind: "invalidate" }),
			() => manager.appendCustomMessageEntry("other-extension", "by the way", false),
			() => manager.appendSessionInfo("name"),
			() => manager.appendMessage(fauxAssistantMessage("done", { timestamp: 0 })),
		])();
	}

	function someBlobs(): string[] {
		return existsSync(blobs) ? blobPathsIn(blobs) : [];
	}

	function shuffled<T>(list: readonly T[]): T[] {
		const rest = [...list];
		return Array.from(list, () => rest.splice(random.below(rest.length), 1)[0] as T);
	}
}

/** The built-in settings, but for the folder of pruned texts: `root` holds no configuration. */
function defaults(root: string, dir: string): Config {
	const { config } = loadConfig({ agentDir: join(root, "none"), cwd: join(root, "none") });
	return { ...config, blobs: { ...config.blobs, dir } };
}

/** A marker in whose place another extension has put a text is no marker any more. */
function asStored(deed: Deed, content: Result["content"]): Deed {
	const text = content[0]?.text ?? "";
	const isOther = text !== "" && !text.startsWith("[readcache: unchanged");
	return deed.kind === "marker" && isOther ? { kind: "opaque", file: deed.file } : deed;
}

function messagesIn(request: readonly Slot[]) {
	return request.flatMap(({ message }) => (message ? [message] : []));
}

function isChange({ name }: Call): boolean {
	return name === "edit" || name === "write";
}

/** As pi makes it of what a tool throws. */
function failed(message: string): Result {
	return { content: [{ type: "text", text: message }], details: {}, isError: true };
}
