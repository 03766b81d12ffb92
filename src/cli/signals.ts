import { constants } from "node:os";

/** The first signal asks to stop, the second forces it. */
export function watchSignals(ask: (reason: string) => void): void {
	let isAsked = false;
	for (const signal of ["SIGINT", "SIGTERM"] as const) {
		process.on(signal, () => {
			if (isAsked) process.exit(statusOf(signal));
			isAsked = true;
			ask(`received ${signal}`);
		});
	}
}

/** The exit status of a program that a signal ended, as shells have it. */
export function statusOf(signal: NodeJS.Signals): number {
	return 128 + constants.signals[signal];
}
