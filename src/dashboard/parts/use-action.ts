import { useRef, useState } from "preact/hooks";

/**
 * One action at a time: while one waits, perhaps for the server to be back, further clicks do nothing. The attributes
 * are for its buttons, which keep the focus meanwhile.
 */
export function useAction() {
	const isWaiting = useRef(false);
	const [isBusy, setBusy] = useState(false);
	async function run(action: () => Promise<unknown>): Promise<void> {
		if (isWaiting.current) return;
		isWaiting.current = true;
		setBusy(true);
		try {
			await action();
		} finally {
			isWaiting.current = false;
			setBusy(false);
		}
	}
	return { run, attributes: isBusy ? ({ "aria-disabled": true } as const) : {} };
}
