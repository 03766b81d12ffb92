/** What a promise gives, or `undefined` if that takes longer than `ms`; the work itself goes on. A failure in time is thrown. */
export async function inTime<Result>(
	work: Promise<Result>,
	ms: number,
): Promise<Result | undefined> {
	const late = Promise.withResolvers<undefined>();
	const timer = setTimeout(() => late.resolve(undefined), ms);
	try {
		return await Promise.race([work, late.promise]);
	} finally {
		clearTimeout(timer);
	}
}
