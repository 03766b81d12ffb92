/**
 * Calls a listener. What it throws is reported like any uncaught error, but later: the others must hear too, and what is
 * being delivered must be delivered.
 */
export function tell<Value>(listener: (value: Value) => void, value: Value): void {
	try {
		listener(value);
	} catch (error) {
		queueMicrotask(() => {
			throw error;
		});
	}
}
