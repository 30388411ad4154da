! Zones, messages, counters and metadata of a Fortran program in the recordings of sonde; zones.h says the rest.
!
!     use sonde_zones
!     call sonde_zone_begin("assemble")
!     call sonde_counter("residual", residual)
!     call sonde_zone_end("assemble")
!
! Compile this file with the program. Nothing is linked but, before glibc 2.34, -ldl. In a program that sonde did not
! start each call is a test of a pointer. Threads may call all of it.
module sonde_zones
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: sonde_zone_begin, sonde_zone_end, sonde_counter, sonde_message, sonde_metadata

    ! struct sonde_zones of zones.h.
    type, bind(c) :: zones_struct
        integer(c_int32_t) :: version, recording
        type(c_funptr) :: name, begin, finish, mark, counter, metadata
    end type

    integer(c_int32_t), parameter :: region_name = 1, mark_name = 2, counter_name = 3
    logical, save, volatile :: is_known = .false.
    type(zones_struct), pointer, save, volatile :: found => null()

    abstract interface
        function name_function(kind, utf8, bytes) bind(c)
            import
            integer(c_int32_t), value :: kind
            character(kind=c_char), intent(in) :: utf8(*)
            integer(c_size_t), value :: bytes
            integer(c_int32_t) :: name_function
        end function
        subroutine region_function(region) bind(c)
            import
            integer(c_int32_t), value :: region
        end subroutine
        subroutine mark_function(mark, text, bytes) bind(c)
            import
            integer(c_int32_t), value :: mark
            character(kind=c_char), intent(in) :: text(*)
            integer(c_size_t), value :: bytes
        end subroutine
        subroutine counter_function(counter, value) bind(c)
            import
            integer(c_int32_t), value :: counter
            real(c_double), value :: value
        end subroutine
        subroutine metadata_function(key, key_bytes, value, value_bytes) bind(c)
            import
            character(kind=c_char), intent(in) :: key(*), value(*)
            integer(c_size_t), value :: key_bytes, value_bytes
        end subroutine
    end interface

    interface
        function dlsym(handle, symbol) bind(c, name="dlsym")
            import
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: symbol(*)
            type(c_ptr) :: dlsym
        end function
    end interface

contains

    subroutine find()
        type(c_ptr) :: address
        address = dlsym(c_null_ptr, "sonde_zones" // c_null_char)
        if (c_associated(address)) call c_f_pointer(address, found)
        is_known = .true.
    end subroutine

    logical function is_recording()
        if (.not. is_known) call find()
        is_recording = associated(found)
        if (is_recording) is_recording = found%recording /= 0
    end function

    integer(c_int32_t) function name_id(kind, name)
        integer(c_int32_t), intent(in) :: kind
        character(len=*), intent(in) :: name
        procedure(name_function), pointer :: ask
        call c_f_procpointer(found%name, ask)
        name_id = ask(kind, name, len_trim(name, kind=c_size_t))
    end function

    subroutine sonde_zone_begin(name)
        character(len=*), intent(in) :: name
        procedure(region_function), pointer :: tell
        if (.not. is_recording()) return
        call c_f_procpointer(found%begin, tell)
        call tell(name_id(region_name, name))
    end subroutine

    ! The innermost open one of that name in this thread.
    subroutine sonde_zone_end(name)
        character(len=*), intent(in) :: name
        procedure(region_function), pointer :: tell
        if (.not. is_recording()) return
        call c_f_procpointer(found%finish, tell)
        call tell(name_id(region_name, name))
    end subroutine

    subroutine sonde_counter(name, value)
        character(len=*), intent(in) :: name
        real(c_double), intent(in) :: value
        procedure(counter_function), pointer :: tell
        if (.not. is_recording()) return
        call c_f_procpointer(found%counter, tell)
        call tell(name_id(counter_name, name), value)
    end subroutine

    subroutine sonde_message(name, text)
        character(len=*), intent(in) :: name, text
        procedure(mark_function), pointer :: tell
        if (.not. is_recording()) return
        call c_f_procpointer(found%mark, tell)
        call tell(name_id(mark_name, name), text, len_trim(text, kind=c_size_t))
    end subroutine

    subroutine sonde_metadata(key, value)
        character(len=*), intent(in) :: key, value
        procedure(metadata_function), pointer :: tell
        if (.not. is_recording()) return
        call c_f_procpointer(found%metadata, tell)
        call tell(key, len_trim(key, kind=c_size_t), value, len_trim(value, kind=c_size_t))
    end subroutine
end module
