/** A process that keeps reads in flight until it hears something else, then tells what came back. */
import { startReadFlood } from "../../test/server/support/read-flood.ts";
import type { FloodTask, FloodTold } from "./fair-reads.ts";

process.once("message", async ({ command, ...task }: FloodTask) => {
	const begun = performance.now();
	let isTold = false;
	const flood = await startReadFlood({
		...task,
		keepsUp: true,
		read: (number) => `{"type":"${command}","id":"flood-${number}","sessionId":"s"}`,
		onAnswer() {
			if (isTold) return;
			isTold = true;
			tell({ kind: "begun" });
		},
	});
	process.once("message", () => {
		tell({
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

function tell(told: FloodTold): void {
	process.send?.(told);
}
