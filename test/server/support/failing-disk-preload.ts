/** Loaded into a server process before anything else: `failing-disk.ts` says what is to fail. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { Fault } from "./failing-disk.ts";

const control = process.env.STRATA_TEST_FAULT ?? "";
const { appendFileSync, closeSync, existsSync, openSync, readFileSync, statSync } = fs;
const { writeFileSync, writeSync } = fs;
let armed = 0;
let left = 0;
let failures = 0;

Object.assign(fs, {
	appendFileSync(...args: Parameters<typeof appendFileSync>) {
		const [path, data] = args;
		const fault = faultFor(path);
		if (fault?.bytes) {
			// Node's own `appendFileSync` calls the functions below.
			const file = openSync(path as string, "a");
			writeSync(file, Buffer.from(data as Buffer).subarray(0, fault.bytes));
			closeSync(file);
			writeFileSync(control, JSON.stringify({ errno: fault.errno })); // the disk had no more room than that
		}
		if (fault) fail(fault, "write");
		appendFileSync(...args);
	},
	writeFileSync(...args: Parameters<typeof writeFileSync>) {
		const fault = faultFor(args[0]);
		if (fault) fail(fault, "write");
		writeFileSync(...args);
	},
	openSync(...args: Parameters<typeof openSync>) {
		const fault = isForReading(args[1]) ? undefined : faultFor(args[0]);
		if (fault) fail(fault, "open");
		return openSync(...args);
	},
});
syncBuiltinESMExports();

function isForReading(flags: fs.OpenMode): boolean {
	const { O_WRONLY, O_RDWR } = fs.constants;
	return flags === "r" || (typeof flags === "number" && (flags & (O_WRONLY | O_RDWR)) === 0);
}

function faultFor(path: unknown): Fault | undefined {
	if (!/[\\/]sessions[\\/]/.test(String(path)) || !existsSync(control)) return undefined;
	const fault: Fault = JSON.parse(readFileSync(control, "utf8"));
	const { mtimeMs } = statSync(control);
	if (mtimeMs !== armed) {
		armed = mtimeMs;
		left = fault.after ?? 0;
		failures = 0;
	}
	if (left-- > 0) return undefined;
	return failures++ < (fault.times ?? Number.POSITIVE_INFINITY) ? fault : undefined;
}

function fail({ errno }: Fault, syscall: string): never {
	const message = `${errno}: no space left on device, ${syscall}`;
	throw Object.assign(new Error(message), { code: errno, syscall });
}
