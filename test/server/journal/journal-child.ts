/** A process that writes into a journal without pause, and prints what the journal has confirmed. Made to be killed. */
import { openJournal } from "../../../src/server/journal/sqlite-journal.ts";

const [dataDir = "", round = "", writers = "8"] = process.argv.slice(2);
const journal = await openJournal({ dataDir, now: () => 10_000 });
const report = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** One session: changing commands one after the other, each with an event before and after. */
async function write(writer: number): Promise<void> {
	const sessionId = `s${writer}`;
	const identity = { principal: "ann", sessionId, fingerprint: "f", atMs: 1_000 };
	const record = { principal: "ann", id: sessionId, cwd: "/", createdAtMs: 1, settings: {} };
	let version = journal.recovered.sessions.find(({ id }) => id === sessionId)?.version ?? -1;
	let seq = journal.extent({ principal: "ann", sessionId }).last;
	const emit = async () => {
		seq++;
		const event = { principal: "ann", sessionId, seq, atMs: 1_000, body: `${seq}` };
		await journal.append(event);
		report({ sessionId, seq });
	};
	for (let n = 0; ; n++) {
		const command = { ...identity, id: `${round}-${writer}-${n}`, type: "set_session_name" };
		await journal.admit(command);
		report({ admitted: command.id });
		void emit();
		version++;
		await journal.finish({
			...command,
			finishedAtMs: 1_001,
			response: { type: "response", command: command.type, success: true, sessionVersion: version },
			version,
			...(version === 0 && { session: record }),
		});
		report({ finished: command.id, sessionId, version });
		void emit();
	}
}

for (let writer = 0; writer < Number(writers); writer++) void write(writer);
