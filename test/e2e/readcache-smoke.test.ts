import { expect, test } from "vitest";
import strata from "../../src/extension/index.ts";
import { startPi } from "../support/pi-session.ts";

test("reads are cached", async () => {
	const pi = await startPi({ extensions: [{ name: "strata", factory: strata }], mode: "rpc" });
	const text = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`).join("\n") + "\n";
	pi.write("a.txt", text);
	await pi.run("go", [
		{ tool: "read", args: { path: "a.txt" }, id: "r1" },
		{ tool: "read", args: { path: "a.txt" }, id: "r2" },
		{ tool: "read", args: { path: "a.txt", offset: 5, limit: 3 }, id: "r3" },
		"done",
	]);
	console.log(pi.textOf("r2"), pi.textOf("r3"));
	pi.write("a.txt", text.replace("line 7\n", "line seven\n"));
	await pi.run("go", [
		{ tool: "read", args: { path: "a.txt" }, id: "r4" },
		{ tool: "read", args: { path: "a.txt" }, id: "r5" },
		{ tool: "read", args: { path: "a.txt:20-30" }, id: "r6" },
		"done",
	]);
	console.log(pi.textOf("r4"), pi.textOf("r5"), pi.textOf("r6"));
	await pi.command("/readcache-status");
	await pi.command("/strata");
	console.log(JSON.stringify(pi.reports, null, 1));
	console.log(JSON.stringify(pi.toolResults().map((r) => r.details)));
	expect(pi.textOf("r2")).toContain("unchanged");
});
