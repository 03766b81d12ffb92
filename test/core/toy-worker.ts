/** A worker for the supervisor's tests that does what its job says. */
import { threadId, workerData } from "node:worker_threads";
import { serveJobs } from "../../src/core/worker-entry.ts";

export type ToyJob =
	| { do: "echo"; value: unknown }
	| { do: "hang" | "crash" | "flood" | "throw" | "eat-memory" | "sleep" | "break" | "id" | "told" }
	/** Answers the number of bytes that were sent after its note. */
	| { do: "receive"; parts: number };

const start = (workerData ?? process.argv[2]) as string | undefined;
if (start === "crash") throw new Error("crashed at start");
if (start === "silent") await new Promise(() => setInterval(() => {}, 1000));

let told = "";

serveJobs<ToyJob, unknown, string, Uint8Array>(
	async (job, { notify, receive, signal }) => {
		switch (job.do) {
			case "echo":
				return job.value;
			case "hang":
				notify("hanging");
				for (;;);
			case "crash":
				notify("crashing");
				await new Promise((resolve) => setTimeout(resolve, 20));
				return process.exit(7);
			case "flood":
				for (let i = 0; i < 200; i++) {
					await new Promise((resolve) => process.stdout.write("x".repeat(10_000), resolve));
					console.error("x".repeat(10_000));
				}
				return "flooded";
			case "throw":
				throw Object.assign(new Error("it failed"), { code: "toy" });
			case "eat-memory": {
				const eaten: number[][] = [];
				for (;;) eaten.push(new Array(100_000).fill(1));
			}
			case "sleep":
				notify("sleeping");
				return await new Promise((resolve) => {
					signal.addEventListener("abort", () => resolve("woken"));
				});
			case "break":
				notify("breaking");
				return await new Promise((_, reject) => {
					signal.addEventListener("abort", () => reject(new Error("it broke")));
				});
			case "told":
				return told;
			case "id":
				return threadId;
			case "receive": {
				let bytes = 0;
				for (let left = job.parts; left > 0; left--) {
					notify("next");
					bytes += (await receive()).length;
				}
				return bytes;
			}
		}
	},
	{
		onBroadcast: (value: string) => {
			told = value;
		},
	},
);
