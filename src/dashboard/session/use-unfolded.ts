import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Find } from "./find/find.ts";

/**
 * Which rows are unfolded. What is found is unfolded while it is looked at, and stays so for who stops looking there; what
 * the search has only passed is folded again.
 */
export function useUnfolded({ isOpen, current }: Find) {
	const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
	/** What the search has unfolded, not the reader. */
	const lent = useRef<string>(undefined);
	const found = current.value?.key;
	useLayoutEffect(() => {
		const passed = isOpen.value ? lent.current : undefined;
		lent.current = found !== undefined && !unfolded.has(found) ? found : undefined;
		setUnfolded(changed(unfolded, { without: passed, by: found }));
	}, [found, isOpen.value]);
	return {
		isUnfolded: (key: string) => unfolded.has(key),
		toggle(key: string, isUnfolded: boolean) {
			setUnfolded(changed(unfolded, isUnfolded ? { by: key } : { without: key }));
		},
	};
}

function changed(
	keys: ReadonlySet<string>,
	{ without, by }: { without?: string | undefined; by?: string | undefined },
): ReadonlySet<string> {
	const next = new Set(keys);
	if (without !== undefined) next.delete(without);
	if (by !== undefined) next.add(by);
	return next;
}
