/** Resolves to `undefined` after `ms`; the work continues. Rejects if the work fails before that. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
	const late = Promise.withResolvers<undefined>();
	const timer = setTimeout(() => late.resolve(undefined), ms);
	try {
		return await Promise.race([work, late.promise]);
	} finally {
		clearTimeout(timer);
	}
}
