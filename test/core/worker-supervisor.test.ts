import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { FromWorker } from "../../src/core/worker-entry.ts";
import { childProcess, thread, type WorkerPort } from "../../src/core/worker-port.ts";
import { type SupervisorOptions, WorkerSupervisor } from "../../src/core/worker-supervisor.ts";
import { PATIENCE, PATIENCE_MS } from "../support/patience.ts";
import { atEnd } from "../support/temp.ts";
import type { ToyJob } from "./toy-worker.ts";

const ENTRY = new URL("./toy-worker.ts", import.meta.url);
const inThread = () => thread(ENTRY);
const inProcess = () => childProcess(ENTRY, { args: [], maxHeapMb: 64 });

function supervise(options: Partial<SupervisorOptions> = {}) {
	const supervisor = new WorkerSupervisor<ToyJob, unknown, string>({ start: inThread, ...options });
	atEnd(() => supervisor.close());
	return supervisor;
}

const echo = (value: unknown): ToyJob => ({ do: "echo", value });

/** Runs a job and resolves with its promise once the worker is in the middle of it. */
async function begun(supervisor: ReturnType<typeof supervise>, job: ToyJob, signal?: AbortSignal) {
	const noted = Promise.withResolvers<void>();
	const answer = supervisor.run(job, { signal, onNote: () => noted.resolve() });
	answer.catch(() => {});
	await noted.promise;
	return { answer };
}

afterEach(() => void vi.useRealTimers());

test("an answer that arrived while this thread was blocked is not late", async () => {
	let onMessage: (message: FromWorker) => void = () => {};
	const port: WorkerPort = {
		id: 1,
		post(message) {
			if (message.kind !== "job") return;
			const { id, value } = message;
			setImmediate(() => onMessage({ kind: "answer", id, value }));
		},
		keepAlive() {},
		end() {},
		listen(onNext) {
			onMessage = onNext;
			onMessage({ kind: "ready" });
		},
	};
	const supervisor = new WorkerSupervisor<ToyJob, unknown>({ start: () => port, deadlineMs: 5 });
	// In this phase of the event loop, timers come before the next message.
	await new Promise(setImmediate);
	const answer = supervisor.run(echo(1));
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
	expect(await answer).toEqual(echo(1));
	expect(await supervisor.run(echo(2))).toEqual(echo(2));
});

describe.each([
	["threads", inThread],
	["child processes", inProcess],
])("a supervisor of %s", (_, start) => {
	test("starts nothing before the first job, and answers jobs in their order", async () => {
		const supervisor = supervise({ start, maxInFlight: 3 });
		expect(supervisor.started).toBe(0);
		const done: number[] = [];
		const jobs = Array.from({ length: 20 }, (_, i) => i);
		await Promise.all(
			jobs.map((i) => supervisor.run(echo(i)).then((answer) => done.push(answer as number))),
		);
		expect(done).toEqual(jobs);
		expect(supervisor.started).toBe(1);
	});

	test("rejects the job of a worker that crashes and sends those behind it again", {
		tags: "slow",
	}, async () => {
		const supervisor = supervise({ start, maxInFlight: 3 });
		await supervisor.run(echo(0));
		const crashed = supervisor.run({ do: "crash" });
		const behind = [1, 2, 3].map((i) => supervisor.run(echo(i)));
		await expect(crashed).rejects.toMatchObject({
			fault: "crash",
			message: "exit status 7",
			served: 1,
		});
		expect(await Promise.all(behind)).toEqual([1, 2, 3]);
		expect(supervisor.started).toBe(2);
	});

	test("ends a worker that overruns a deadline, which waiting jobs have whole", {
		tags: "slow",
	}, async () => {
		const supervisor = supervise({ start });
		const late = supervisor.run({ do: "hang" }, { deadlineMs: 50 });
		const next = supervisor.run(echo("next"), { deadlineMs: PATIENCE_MS });
		await expect(late).rejects.toMatchObject({ fault: "deadline", message: "over 50 ms" });
		expect(await next).toBe("next");
	});

	test("is not blocked by a worker that floods its output, and prints none of it", async () => {
		const supervisor = supervise({ start });
		expect(await supervisor.run({ do: "flood" })).toBe("flooded");
		expect(await supervisor.run(echo("after"))).toBe("after");
	});

	test("rejects jobs in flight and queued when it closes, and what comes later", {
		tags: "slow",
	}, async () => {
		const supervisor = supervise({ start });
		const { answer } = await begun(supervisor, { do: "hang" });
		const queued = supervisor.run(echo(1));
		const settled = Promise.allSettled([answer, queued]);
		await Promise.all([supervisor.close(), supervisor.close()]);
		for (const outcome of await settled) {
			expect(outcome).toMatchObject({ status: "rejected", reason: { fault: "closed" } });
		}
		await expect(supervisor.run(echo(2))).rejects.toMatchObject({ fault: "closed" });
		expect(supervisor.workers).toEqual([]);
	});
});

describe("a handler that throws", () => {
	test("rejects its job with message and code, and the worker goes on", async () => {
		const supervisor = supervise();
		await expect(supervisor.run({ do: "throw" })).rejects.toMatchObject({
			fault: "failed",
			message: "it failed",
			code: "toy",
		});
		expect(await supervisor.run(echo(1))).toBe(1);
		expect(supervisor.started).toBe(1);
	});

	test("ends the worker where that is wanted", { tags: "slow" }, async () => {
		const supervisor = supervise({ endOnFailure: true });
		await expect(supervisor.run({ do: "throw" })).rejects.toMatchObject({ fault: "failed" });
		expect(await supervisor.run(echo(1))).toBe(1);
		expect(supervisor.started).toBe(2);
	});
});

describe("abort", () => {
	test("rejects at once before, in the queue and in flight, where it ends the worker", async () => {
		const supervisor = supervise();
		const aborted = { fault: "aborted" };
		const already = supervisor.run(echo(0), { signal: AbortSignal.abort() });
		await expect(already).rejects.toMatchObject(aborted);
		expect(supervisor.started).toBe(0);
		const [inFlight, inQueue] = [new AbortController(), new AbortController()];
		const { answer } = await begun(supervisor, { do: "hang" }, inFlight.signal);
		const queued = supervisor.run(echo(1), { signal: inQueue.signal });
		const next = supervisor.run(echo(2));
		inQueue.abort();
		await expect(queued).rejects.toMatchObject(aborted);
		expect(supervisor.started).toBe(1);
		inFlight.abort();
		await expect(answer).rejects.toMatchObject(aborted);
		expect(await next).toBe(2);
		expect(supervisor.started).toBe(2);
	});

	test("only signals the handler where the worker is worth keeping", async () => {
		const supervisor = supervise({ onAbort: "signal" });
		const stop = new AbortController();
		const { answer } = await begun(supervisor, { do: "sleep" }, stop.signal);
		stop.abort();
		await expect(answer).rejects.toMatchObject({ fault: "aborted" });
		expect(await supervisor.run(echo(1))).toBe(1);
		expect(supervisor.started).toBe(1);
	});

	test("of a signaled handler that breaks over it ends the worker where failures do", async () => {
		const supervisor = supervise({ onAbort: "signal", endOnFailure: true });
		const stop = new AbortController();
		const { answer } = await begun(supervisor, { do: "break" }, stop.signal);
		stop.abort();
		await expect(answer).rejects.toMatchObject({ fault: "aborted" });
		expect(await supervisor.run(echo(1))).toBe(1);
		expect(supervisor.started).toBe(2);
	});

	test("in flight behind another job does not end the worker of that", async () => {
		const supervisor = supervise({ maxInFlight: 2 });
		const stop = new AbortController();
		const sending = supervisor.run(
			{ do: "receive", parts: 1 },
			{
				onNote: (_, job) => {
					stop.abort();
					job.send(new Uint8Array(3));
				},
			},
		);
		await expect(supervisor.run(echo(1), { signal: stop.signal })).rejects.toMatchObject({
			fault: "aborted",
		});
		expect(await sending).toBe(3);
		expect(supervisor.started).toBe(1);
	});

	test("of a signaled handler that goes on is still bound by the deadline", {
		tags: "slow",
	}, async () => {
		const supervisor = supervise({ onAbort: "signal", deadlineMs: 100 });
		const stop = new AbortController();
		const { answer } = await begun(supervisor, { do: "hang" }, stop.signal);
		stop.abort();
		await expect(answer).rejects.toMatchObject({ fault: "aborted" });
		expect(await supervisor.run(echo(1), { deadlineMs: PATIENCE_MS })).toBe(1);
		expect(supervisor.started).toBe(2);
	});
});

describe("messages during a job", () => {
	test("go both ways, with transferred memory", async () => {
		const supervisor = supervise();
		const parts: Uint8Array[] = [];
		const answer = supervisor.run(
			{ do: "receive", parts: 3 },
			{
				onNote: (note, job) => {
					expect(note).toBe("next");
					const part = new Uint8Array(1000);
					job.send(part, [part.buffer]);
					parts.push(part);
				},
			},
		);
		expect(await answer).toBe(3000);
		expect(parts.map(({ length }) => length)).toEqual([0, 0, 0]);
	});

	test("reach every running worker without a job, and start none", async () => {
		const supervisor = supervise();
		supervisor.broadcast("too early");
		expect(supervisor.started).toBe(0);
		expect(await supervisor.run({ do: "told" })).toBe("");
		supervisor.broadcast("in time");
		expect(await supervisor.run({ do: "told" })).toBe("in time");
	});

	test("can give the job a new deadline", async () => {
		const supervisor = supervise();
		const onNote = (_: string, job: { extend(ms: number): void }) => job.extend(50);
		const late = supervisor.run({ do: "hang" }, { deadlineMs: PATIENCE_MS, onNote });
		await expect(late).rejects.toMatchObject({ fault: "deadline" });
	});

	test("end an abandoned job that waits for one", async () => {
		const supervisor = supervise({ onAbort: "signal", endOnFailure: true });
		const stop = new AbortController();
		const { answer } = await begun(supervisor, { do: "receive", parts: 1 }, stop.signal);
		stop.abort();
		await expect(answer).rejects.toMatchObject({ fault: "aborted" });
		expect(await supervisor.run(echo(1))).toBe(1);
		expect(supervisor.started).toBe(1);
	});
});

describe("bounds", () => {
	test("a job beyond the bound of pending ones is refused", async () => {
		const supervisor = supervise({ maxPending: 2 });
		const pending = [supervisor.run(echo(1)), supervisor.run(echo(2))];
		await expect(supervisor.run(echo(3))).rejects.toMatchObject({ fault: "busy" });
		expect(await Promise.all(pending)).toEqual([1, 2]);
		expect(await supervisor.run(echo(4))).toBe(4);
	});

	test("a worker at its heap limit is replaced", { tags: "slow" }, async () => {
		const limits = { resourceLimits: { maxOldGenerationSizeMb: 24 } };
		const supervisor = supervise({ start: () => thread(ENTRY, limits) });
		await expect(supervisor.run({ do: "eat-memory" })).rejects.toMatchObject({ fault: "memory" });
		expect(await supervisor.run(echo(1))).toBe(1);
	});

	test("moves the memory of a job to the worker if asked to", async () => {
		const supervisor = supervise();
		const [moved, copied] = [new Uint8Array([1, 2]), new Uint8Array([3])];
		const answer = supervisor.run(echo([moved, copied]), { transfer: [moved.buffer] });
		expect([moved.byteLength, copied.byteLength]).toEqual([0, 1]);
		expect(await answer).toEqual([new Uint8Array([1, 2]), new Uint8Array([3])]);
	});

	test("what cannot be sent is refused, and the next job is not", async () => {
		const supervisor = supervise();
		await expect(supervisor.run(echo(() => {}))).rejects.toMatchObject({ fault: "unsendable" });
		expect(await supervisor.run(echo(1))).toBe(1);
	});

	test("workers start only while jobs would wait, up to the size, and preferred ones come first", async () => {
		const supervisor = supervise({ size: 2, maxInFlight: 2, onAbort: "signal" });
		const stops = [new AbortController(), new AbortController()];
		const busy = await Promise.all(
			stops.map(({ signal }) => begun(supervisor, { do: "sleep" }, signal)),
		);
		expect(supervisor.started).toBe(2);
		for (const stop of stops) stop.abort();
		await Promise.allSettled(busy.map(({ answer }) => answer));
		// Each has one of these.
		const ids = await Promise.all([supervisor.run({ do: "id" }), supervisor.run({ do: "id" })]);
		expect(ids).toEqual(supervisor.workers);
		for (const id of [...ids, ...ids]) {
			expect(await supervisor.run({ do: "id" }, { prefer: (worker) => worker === id })).toBe(id);
		}
		expect(supervisor.started).toBe(2);
	});

	test("a worker without jobs ends, and the next job starts another", {
		tags: "slow",
	}, async () => {
		const supervisor = supervise({ idleMs: 1 });
		await supervisor.run(echo(1));
		await vi.waitFor(() => expect(supervisor.workers).toEqual([]), PATIENCE);
		expect(await supervisor.run(echo(2))).toBe(2);
		expect(supervisor.started).toBe(2);
	});
});

describe("a worker that does not start", () => {
	test("rejects its job, and the next start backs off with jitter, longer each time", {
		tags: "slow",
	}, async () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		vi.spyOn(Math, "random").mockReturnValue(0.5);
		let isFixed = false;
		const supervisor = supervise({
			start: () => thread(ENTRY, isFixed ? {} : { workerData: "crash" }),
		});
		await expect(supervisor.run(echo(0))).rejects.toMatchObject({
			fault: "start",
			message: "crashed at start",
		});
		for (const [i, ms] of [75, 150, 300, 600, 1200, 2400, 3750, 3750].entries()) {
			const next = supervisor.run(echo(i));
			next.catch(() => {});
			await vi.advanceTimersByTimeAsync(ms - 1);
			expect(supervisor.started).toBe(i + 1);
			await vi.advanceTimersByTimeAsync(1);
			expect(supervisor.started).toBe(i + 2);
			await expect(next).rejects.toMatchObject({ fault: "start" });
		}
		isFixed = true;
		const answer = supervisor.run(echo("well"));
		await vi.advanceTimersByTimeAsync(3750);
		expect(await answer).toBe("well");
		vi.restoreAllMocks();
	});

	test("rejects all jobs that wait for it: the last one does not wait for as many starts", async () => {
		const crashing = () => thread(ENTRY, { workerData: "crash" });
		const none = () => {
			throw new Error("no thread left");
		};
		for (const start of [crashing, none]) {
			const supervisor = supervise({ start, maxInFlight: 2 });
			const jobs = [1, 2, 3, 4].map((i) => supervisor.run(echo(i)));
			for (const job of await Promise.allSettled(jobs)) {
				expect(job).toMatchObject({ status: "rejected", reason: { fault: "start" } });
			}
			expect(supervisor.started).toBe(start === none ? 0 : 1);
		}
	});

	test("for want of a thread is tried again by a later job", async () => {
		let isAllowed = false;
		const start = (): WorkerPort => {
			if (!isAllowed) throw new Error("no thread left");
			return inThread();
		};
		const supervisor = supervise({ start });
		await expect(supervisor.run(echo(1))).rejects.toMatchObject({
			fault: "start",
			message: "no thread left",
		});
		isAllowed = true;
		expect(await supervisor.run(echo(2))).toBe(2);
	});

	test("and never says so is ended after 30 s", async () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		const supervisor = supervise({ start: () => thread(ENTRY, { workerData: "silent" }) });
		const rejected = expect(supervisor.run(echo(1))).rejects.toMatchObject({ fault: "start" });
		await vi.advanceTimersByTimeAsync(30_000);
		await rejected;
	});

	test("is no reason to wait when it closes", async () => {
		const supervisor = supervise({ start: () => thread(ENTRY, { workerData: "crash" }) });
		await expect(supervisor.run(echo(1))).rejects.toMatchObject({ fault: "start" });
		const waiting = expect(supervisor.run(echo(2))).rejects.toMatchObject({ fault: "closed" });
		await supervisor.close();
		await waiting;
	});
});

describe("closing", () => {
	test("lets a worker end by itself: its handler is aborted and it may close what it has", async () => {
		const port = inThread();
		let exit: unknown;
		const start = (): WorkerPort => ({
			...port,
			listen: (onMessage, onExit) =>
				port.listen(onMessage, (error) => {
					exit = error;
					onExit(error);
				}),
		});
		const supervisor = supervise({ start, closeMs: PATIENCE_MS });
		const { answer } = await begun(supervisor, { do: "sleep" });
		await supervisor.close();
		await expect(answer).rejects.toMatchObject({ fault: "closed" });
		expect(exit).toBe("exit status 0");
	});

	test("ends one that does not in time", async () => {
		const supervisor = supervise({ closeMs: 20 });
		const { answer } = await begun(supervisor, { do: "hang" });
		await supervisor.close();
		await expect(answer).rejects.toMatchObject({ fault: "closed" });
	});
});

/** Runs a script in a process of its own, with the supervisor, both kinds of ports and the toy worker at hand. */
async function runScript(body: string, limit = ""): Promise<{ stdout: string; stderr: string }> {
	const at = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
	const script = `
		import { WorkerSupervisor } from ${at("../../src/core/worker-supervisor.ts")};
		import { childProcess, thread } from ${at("../../src/core/worker-port.ts")};
		const entry = new URL(${at("./toy-worker.ts")});
		const ports = [() => thread(entry), () => childProcess(entry, { args: [], maxHeapMb: 64 })];
		${body}`;
	const words = ["--input-type=module-typescript", "--eval", script];
	const inShell = ["-c", `${limit}exec "$0" "$@"`, process.execPath, ...words];
	return await promisify(execFile)("/bin/sh", inShell, PATIENCE);
}

describe("a process", () => {
	test("stays for a pending job, ends with a warm worker, and has a clean output", {
		tags: "slow",
	}, async () => {
		const output = await runScript(`
			for (const start of ports) {
				const supervisor = new WorkerSupervisor({ start, idleMs: 600_000 });
				console.log(await supervisor.run({ do: "flood" }));
			}`);
		expect(output).toEqual({ stdout: "flooded\nflooded\n", stderr: "" });
	});

	test("stays for a job that waits until the worker before it has ended, and for the end", {
		tags: "slow",
	}, async () => {
		const output = await runScript(`
			for (const start of ports) {
				const supervisor = new WorkerSupervisor({ start });
				const late = supervisor.run({ do: "hang" }, { deadlineMs: 50 });
				const next = supervisor.run({ do: "echo", value: "next" });
				console.log(await late.catch(({ fault }) => fault), await next);
				await supervisor.close();
				console.log("closed");
			}`);
		const each = "deadline next\nclosed\n";
		expect(output).toEqual({ stdout: each + each, stderr: "" });
	});

	test("stays for a job that waits for a worker whose job was aborted", {
		tags: "slow",
	}, async () => {
		const output = await runScript(`
			for (const start of ports) {
				const supervisor = new WorkerSupervisor({ start, onAbort: "signal" });
				const stop = new AbortController();
				const { promise, resolve } = Promise.withResolvers();
				const given = { signal: stop.signal, onNote: resolve };
				const slept = supervisor.run({ do: "sleep" }, given).catch(({ fault }) => fault);
				const next = supervisor.run({ do: "echo", value: "next" });
				await promise;
				stop.abort();
				console.log(await slept, await next);
			}`);
		expect(output).toEqual({ stdout: "aborted next\naborted next\n", stderr: "" });
	});

	test("without files left reports that no worker starts, and blames no job", async () => {
		const output = await runScript(
			`import { openSync } from "node:fs";
			const supervisor = new WorkerSupervisor({ start: ports[1] });
			try {
				for (;;) openSync("/dev/null");
			} catch {}
			console.log(await supervisor.run({ do: "id" }).catch(({ fault }) => fault));`,
			"ulimit -n 64; ",
		);
		expect(output).toEqual({ stdout: "start\n", stderr: "" });
	});

	test("does not stay for a back-off without jobs", async () => {
		const output = await runScript(`
			const start = () => thread(entry, { workerData: "crash" });
			const supervisor = new WorkerSupervisor({ start });
			await supervisor.run({ do: "id" }).catch(() => {});
			console.log(process.getActiveResourcesInfo().includes("Timeout"));`);
		expect(output.stdout).toBe("false\n");
	});
});
