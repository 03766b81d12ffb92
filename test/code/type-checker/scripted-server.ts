import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../../support/temp.ts";

/** What the scripted language server does with a request for references. */
export type Script =
	| { readonly kind: "answers"; readonly places: readonly string[] }
	| { readonly kind: "hangs" | "dies" | "babbles" | "boasts" | "refuses" };

/** A language server on stdio that follows a script. It writes what it receives, and its process id, into a file. */
export function scriptedServer(script: Script): { command: string; args: string[]; log: string } {
	const folder = tempDir("language server");
	const log = join(folder, "log.jsonl");
	const program = join(folder, "server.mjs");
	writeFileSync(program, PROGRAM);
	writeFileSync(log, "");
	return { command: process.execPath, args: [program, log, JSON.stringify(script)], log };
}

const PROGRAM = `
import { appendFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [log, text] = process.argv.slice(2);
const script = JSON.parse(text);
const write = (value) => appendFileSync(log, JSON.stringify(value) + "\\n");
write({ pid: process.pid, secret: process.env.STRATA_TEST_SECRET });
const send = (message) => {
	const body = JSON.stringify({ jsonrpc: "2.0", ...message });
	const whole = Buffer.from("Content-Length: " + Buffer.byteLength(body) + "\\r\\n\\r\\n" + body);
	// Two writes, so that a message arrives in parts.
	process.stdout.write(whole.subarray(0, 7));
	setImmediate(() => process.stdout.write(whole.subarray(7)));
};
let root = "";
let input = Buffer.alloc(0);
let configured;
process.stdin.on("data", (chunk) => {
	input = Buffer.concat([input, chunk]);
	for (;;) {
		const head = input.indexOf("\\r\\n\\r\\n");
		if (head < 0) return;
		const length = Number(/content-length: (\\d+)/i.exec(input.subarray(0, head).toString())[1]);
		if (input.length < head + 4 + length) return;
		const message = JSON.parse(input.subarray(head + 4, head + 4 + length).toString());
		input = input.subarray(head + 4 + length);
		receive(message);
	}
});
process.stdin.on("end", () => process.exit(0));
function receive({ id, method, params, result }) {
	write({ id, method, params, result });
	if (method === "initialize") {
		root = params.rootUri;
		send({ id, result: { capabilities: {} } });
	} else if (method === "textDocument/references") {
		if (script.kind === "hangs") return;
		if (script.kind === "dies") process.exit(3);
		if (script.kind === "babbles") process.stdout.write("hello\\n".repeat(2000));
		else if (script.kind === "boasts") process.stdout.write("Content-Length: 99999999\\r\\n\\r\\n");
		else if (script.kind === "refuses") send({ id, error: { code: 1, message: "no such file" } });
		else {
			configured = id;
			send({ id: 77, method: "workspace/configuration", params: { items: [{}, {}] } });
		}
	} else if (id === 77) {
		send({
			id: configured,
			result: script.places.map((place) => {
				const [path, line, column] = place.split(":");
				const start = { line: line - 1, character: column - 1 };
				const uri = path.startsWith("/") ? pathToFileURL(path).href : root + "/" + path;
				return { uri, range: { start, end: start } };
			}),
		});
	}
}
`;
