/** A process that keeps reads in flight until its second message, then reports the answers. */
import { startReadFlood } from "../../test/server/support/read-flood.ts";
import type { FloodReport, FloodTask } from "./fair-reads.ts";

process.once("message", async ({ command, ...task }: FloodTask) => {
	const begun = performance.now();
	let hasAnswer = false;
	const flood = await startReadFlood({
		...task,
		keepsUp: true,
		read: (number) => `{"type":"${command}","id":"flood-${number}","sessionId":"s"}`,
		onAnswer() {
			if (hasAnswer) return;
			hasAnswer = true;
			report({ kind: "begun" });
		},
	});
	process.once("message", () => {
		report({
			kind: "ended",
			answers: flood.answers(),
			bytes: flood.bytes(),
			cutOff: flood.cutOff(),
			ms: performance.now() - begun,
		});
		flood.close();
		process.disconnect();
	});
});

function report(message: FloodReport): void {
	process.send?.(message);
}
