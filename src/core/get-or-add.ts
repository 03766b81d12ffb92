/** A stored `undefined` counts as present. */
export function getOrAdd<K, V>(
	map: { has(key: K): boolean; get(key: K): V | undefined; set(key: K, value: V): unknown },
	key: K,
	make: () => V,
): V {
	const known = map.get(key);
	if (known !== undefined || map.has(key)) return known as V;
	const made = make();
	map.set(key, made);
	return made;
}
