type Listener<Value> = (value: Value) => void;

/** Returns a function that removes the listener. */
export function listen<Value>(listeners: Set<Listener<Value>>, listener: Listener<Value>) {
	listeners.add(listener);
	return () => void listeners.delete(listener);
}

/** Rethrows a listener's error asynchronously, as uncaught, so that other listeners are still notified. */
export function notify<Value>(listeners: Iterable<Listener<Value>>, value: Value): void {
	for (const listener of [...listeners]) {
		try {
			listener(value);
		} catch (error) {
			queueMicrotask(() => {
				throw error;
			});
		}
	}
}
