subroutine talk(comm, turns)
  implicit none
  include 'mpif.h'
  integer, intent(in) :: comm, turns
  integer :: rank, size, right, left, i, ierr, requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  double precision :: given(10), taken(10), total(3)
  call MPI_COMM_RANK(comm, rank, ierr)
  call MPI_COMM_SIZE(comm, size, ierr)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  do i = 1, turns
     call MPI_ISEND(given, 10, MPI_DOUBLE_PRECISION, right, 5, comm, requests(1), ierr)
     call MPI_IRECV(taken, 10, MPI_DOUBLE_PRECISION, left, 5, comm, requests(2), ierr)
     call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierr)
     call MPI_SENDRECV(given, i, MPI_DOUBLE_PRECISION, right, 6, taken, 10, MPI_DOUBLE_PRECISION, left, 6, comm, &
          status, ierr)
     call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, size, ierr)
     if (size /= i .or. status(MPI_SOURCE) /= left) stop 1
  end do
  total = 1
  call MPI_ALLREDUCE(MPI_IN_PLACE, total, 3, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
  call MPI_BCAST(given, 2, MPI_INTEGER, 1, comm, ierr)
end subroutine talk

subroutine finish(ierr)
  implicit none
  include 'mpif.h'
  integer, intent(out) :: ierr
  call MPI_PCONTROL(1)
  call MPI_FINALIZE(ierr)
end subroutine finish
