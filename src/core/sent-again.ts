interface Hashed {
	readonly hash: string;
}

/** Those of a request that its predecessor had too, at any place. One that was sent once counts once. */
export function sentAgain<T extends Hashed>(before: readonly Hashed[], now: readonly T[]): T[] {
	const left = new Map<string, number>();
	for (const { hash } of before) left.set(hash, (left.get(hash) ?? 0) + 1);
	return now.filter(({ hash }) => {
		const count = left.get(hash) ?? 0;
		if (count > 0) left.set(hash, count - 1);
		return count > 0;
	});
}
