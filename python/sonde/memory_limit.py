"""``sonde mem --lines --pdb-at MB``: the debugger, once so much memory is resident."""

_MIB = 1 << 20


def stop(frame, used_bytes, limit_bytes):
    """Starts pdb, which stops at the next line of the frame; called from its present one."""
    import pdb

    print(
        f"Current memory {used_bytes / _MIB:.2f} MiB exceeded the maximum of {limit_bytes / _MIB:.2f} MiB\n"
        "Stepping into the debugger"
    )
    pdb.Pdb(skip=["sonde", "sonde.*"]).set_trace(frame)
