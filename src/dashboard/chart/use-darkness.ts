import { useEffect, useState } from "preact/hooks";

/** Whether the operating system asks for dark colours, now and after every change. */
export function useDarkness(): boolean {
	const [isDark, setIsDark] = useState(() => query().matches);
	useEffect(() => {
		const list = query();
		const follow = () => setIsDark(list.matches);
		list.addEventListener("change", follow);
		return () => list.removeEventListener("change", follow);
	}, []);
	return isDark;
}

function query(): MediaQueryList {
	return matchMedia("(prefers-color-scheme: dark)");
}
