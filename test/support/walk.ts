/**
 * Which source files an action passes, by V8's precise coverage: those in which a function ran, not only the module's
 * own top level. The leaves `core/` and `text/` are left out: they can be understood alone. Works on modules as
 * Node loads them, so call it outside of vitest, which rewrites them.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { type InspectorNotification, type NodeWorker, Session } from "node:inspector";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const SRC = new URL("../../src/", import.meta.url).href;
const LEAVES = /^(?:core|text)\//;

type Post = (method: string, params?: object) => Promise<unknown>;

interface Coverage {
	result: { url: string; functions: CountedFunction[] }[];
}

interface CountedFunction {
	functionName: string;
	ranges: { startOffset: number; endOffset: number; count: number }[];
}

/**
 * Runs `action` and returns the files that it passes in this thread, and `inWorkers` in those that run already. Let the
 * same action run once before: modules load on first use, and code that runs on loading is not part of a walk.
 */
export async function walk(
	action: () => Promise<void>,
	{ inWorkers = false } = {},
): Promise<string[]> {
	const session = new Session();
	session.connect();
	const post: Post = (method, params = {}) =>
		new Promise((resolve, reject) =>
			session.post(method, params, (error, result) => (error ? reject(error) : resolve(result))),
		);
	const threads = [post, ...(inWorkers ? await workersOf(session, post) : [])];
	for (const thread of threads) {
		await thread("Profiler.enable");
		await thread("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
	}
	await action();
	const taken = await Promise.all(threads.map((thread) => thread("Profiler.takePreciseCoverage")));
	session.disconnect();
	return filesIn(taken as Coverage[]);
}

/** Runs Node with these arguments and returns the files that all of its threads pass, from start to end. */
export function walkOfProcess(args: readonly string[], cwd: string): string[] {
	const folder = mkdtempSync(join(tmpdir(), "strata-coverage-"));
	const env = { ...process.env, NODE_V8_COVERAGE: folder };
	const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: "utf8" });
	if (status !== 0) throw new Error(`${args.join(" ")}: status ${status}, ${stderr}`);
	const taken = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
	rmSync(folder, { recursive: true });
	return filesIn(taken.map((json) => JSON.parse(json)));
}

/** How to talk to each worker thread that runs. */
async function workersOf(session: Session, post: Post): Promise<Post[]> {
	const workers: string[] = [];
	const answers = new Map<number, (result: unknown) => void>();
	session.on(
		"NodeWorker.attachedToWorker",
		({ params }: InspectorNotification<NodeWorker.AttachedToWorkerEventDataType>) =>
			workers.push(params.sessionId),
	);
	session.on(
		"NodeWorker.receivedMessageFromWorker",
		({ params }: InspectorNotification<NodeWorker.ReceivedMessageFromWorkerEventDataType>) => {
			const { id, result } = JSON.parse(params.message);
			answers.get(id)?.(result);
		},
	);
	await post("NodeWorker.enable", { waitForDebuggerOnStart: false });
	await sleep(100); // V8 reports each worker by a notification and never the last one
	return workers.map((sessionId) => async (method, params = {}) => {
		const id = answers.size;
		const answered = new Promise((resolve) => answers.set(id, resolve));
		const message = JSON.stringify({ id, method, params });
		await post("NodeWorker.sendMessageToWorker", { sessionId, message });
		return answered;
	});
}

function filesIn(taken: readonly Coverage[]): string[] {
	const files = taken
		.flatMap(({ result }) => result)
		.filter(({ url, functions }) => url.startsWith(SRC) && functions.some(ran))
		.map(({ url }) => fileURLToPath(url).slice(fileURLToPath(SRC).length).replaceAll("\\", "/"))
		.filter((file) => !LEAVES.test(file));
	return [...new Set(files)].sort();
}

function ran({ functionName, ranges: [whole] }: CountedFunction): boolean {
	const isModule = functionName === "" && whole?.startOffset === 0;
	return !isModule && (whole?.count ?? 0) > 0;
}
