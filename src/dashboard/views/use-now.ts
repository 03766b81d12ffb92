import { useEffect, useState } from "preact/hooks";

/** The time, every so often: for ages that are shown. */
export function useNow(everyMs = 10_000): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), everyMs);
		return () => clearInterval(timer);
	}, [everyMs]);
	return now;
}
