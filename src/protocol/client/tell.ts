/** Rethrows later, as an uncaught error: other listeners and the delivery must go on. */
export function tell<Value>(listener: (value: Value) => void, value: Value): void {
	try {
		listener(value);
	} catch (error) {
		queueMicrotask(() => {
			throw error;
		});
	}
}
