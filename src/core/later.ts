/** A value, or the promise of one. Who has the value at once costs its callers no tick. */
export type Later<T> = T | Promise<T>;

/** Calls `use` in this tick if the value is there. */
export function whenThere<T, U>(value: Later<T>, use: (value: T) => Later<U>): Later<U> {
	return value instanceof Promise ? value.then(use) : use(value);
}
