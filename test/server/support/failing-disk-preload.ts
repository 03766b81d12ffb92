/** Loaded into a server process before anything else: `failing-disk.ts` says what is to fail. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { Fault } from "./failing-disk.ts";

const control = process.env.STRATA_TEST_FAULT ?? "";
const { appendFileSync, existsSync, openSync, readFileSync, statSync, writeFileSync } = fs;
let armed = 0;
let left = 0;

Object.assign(fs, {
	appendFileSync(...args: Parameters<typeof appendFileSync>) {
		const [path, data] = args;
		const fault = faultFor(path);
		if (fault?.bytes) {
			appendFileSync(path, Buffer.from(data as Buffer).subarray(0, fault.bytes));
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
		const fault = args[1] === "r" ? undefined : faultFor(args[0]);
		if (fault) fail(fault, "open");
		return openSync(...args);
	},
});
syncBuiltinESMExports();

function faultFor(path: unknown): Fault | undefined {
	if (!/[\\/]sessions[\\/]/.test(String(path)) || !existsSync(control)) return undefined;
	const fault: Fault = JSON.parse(readFileSync(control, "utf8"));
	const { mtimeMs } = statSync(control);
	if (mtimeMs !== armed) {
		armed = mtimeMs;
		left = fault.after ?? 0;
	}
	return left-- > 0 ? undefined : fault;
}

function fail({ errno }: Fault, syscall: string): never {
	const message = `${errno}: no space left on device, ${syscall}`;
	throw Object.assign(new Error(message), { code: errno, syscall });
}
