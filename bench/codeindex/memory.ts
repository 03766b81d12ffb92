import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Resident memory of a process and its children, in bytes. Shared pages (Node itself) count once where the system reports them. */
export async function residentMemory(pid = process.pid): Promise<number> {
	const args = ["-o", "pid=", "--ppid", String(pid)];
	const { stdout } = await promisify(execFile)("ps", args).catch(() => ({ stdout: "" }));
	const pids = [pid, ...stdout.split("\n").map(Number).filter(Boolean)];
	const sizes = await Promise.all(
		pids.map(async (one) => {
			const text = await readFile(`/proc/${one}/smaps_rollup`, "utf8").catch(() => "");
			return 1024 * Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0);
		}),
	);
	const shared = sizes.reduce((sum, size) => sum + size, 0);
	return pid === process.pid ? Math.max(shared, process.memoryUsage.rss()) : shared;
}

/** Calls `work` and returns the largest amount of memory meanwhile. */
export async function peakMemory(pid: number, work: () => Promise<unknown>): Promise<number> {
	let peak = await residentMemory(pid);
	const watch = setInterval(async () => {
		peak = Math.max(peak, await residentMemory(pid));
	}, 250);
	try {
		await work();
		return peak;
	} finally {
		clearInterval(watch);
	}
}
