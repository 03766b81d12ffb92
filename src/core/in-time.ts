/** Resolves to `undefined` if the work takes longer than `ms`; the work continues. Rejects if it fails. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
	const late = Promise.withResolvers<undefined>();
	const timer = setTimeout(() => late.resolve(undefined), ms);
	try {
		return await Promise.race([work, late.promise]);
	} finally {
		clearTimeout(timer);
	}
}
